// Adds copy buttons. It inserts text only, never markup.
(function () {
  'use strict'

  function copyBySelection (text) {
    const area = document.createElement('textarea')
    area.value = text
    area.readOnly = true
    area.className = 'hidden-visually'
    document.body.append(area)
    area.select()
    let copied = false
    try { copied = document.execCommand('copy') } catch {}
    area.remove()
    return copied
  }

  // The clipboard interface exists in secure contexts only, not on plain http beyond localhost.
  async function copy (text) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      return copyBySelection(text)
    }
  }

  const status = document.createElement('p')
  status.className = 'hidden-visually'
  status.setAttribute('role', 'status')
  document.body.append(status)

  function copyButton (label, textOf) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = label
    button.addEventListener('click', async function () {
      const copied = await copy(textOf())
      button.focus({ preventScroll: true })
      status.textContent = button.textContent = copied ? 'Copied' : 'Could not copy'
      setTimeout(function () { button.textContent = label }, 2000)
    })
    return button
  }

  function textsOf (selector) {
    return [...document.querySelectorAll(selector)].map(function (element) { return element.textContent.trim() })
  }

  for (const source of document.querySelectorAll('[data-copy]')) {
    source.before(copyButton(source.dataset.copy, function () { return source.textContent }))
  }
  for (const link of document.querySelectorAll('[data-copies]')) {
    const source = document.getElementById(link.dataset.copies)
    link.replaceWith(copyButton(link.textContent, function () { return source.textContent + differencesAsText() }))
  }

  // The profile is stored after the response. Scripts in a parsed document do not run.
  async function loadFragment (place, tries) {
    try {
      const response = await fetch(place.dataset.fragment, { headers: { accept: 'text/html' } })
      if (response.status === 404 && tries > 1) {
        return setTimeout(function () { loadFragment(place, tries - 1) }, 400)
      }
      const fragment = response.ok ? new DOMParser().parseFromString(await response.text(), 'text/html').body : null
      if (fragment && fragment.textContent.trim()) {
        place.classList.add('card', 'hint')
        place.replaceChildren(...fragment.childNodes)
      }
    } catch {}
  }
  for (const place of document.querySelectorAll('[data-fragment]')) loadFragment(place, 5)

  // The differences from the last success, as lines of Markdown.
  function differencesAsText () {
    const rows = textsOf('[data-fragment] tbody tr').map(function (text) { return '- ' + text.replace(/\s+/g, ' ') })
    return rows.length ? '\n## Differences from the last success\n\n' + rows.join('\n') + '\n' : ''
  }
})()
