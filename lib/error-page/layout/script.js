// Everything is on the page already; this adds copying and a text filter. The DOM is built of text only.
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

  // The clipboard interface exists in secure contexts only, which a service on plain http is not.
  async function copy (text) {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      return copyBySelection(text)
    }
  }

  const said = document.createElement('p')
  said.className = 'hidden-visually'
  said.setAttribute('role', 'status')
  document.body.append(said)

  function copyButton (label, textOf) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = label
    button.addEventListener('click', async function () {
      const copied = await copy(textOf())
      button.focus({ preventScroll: true })
      said.textContent = button.textContent = copied ? 'Copied' : 'Could not copy'
      setTimeout(function () { button.textContent = label }, 2000)
    })
    return button
  }

  function textOf (selector) {
    return [...document.querySelectorAll(selector)].map(function (element) { return element.textContent.trim() })
  }

  for (const source of document.querySelectorAll('[data-copy]')) {
    const button = copyButton(source.dataset.copy, function () { return source.textContent })
    source.before(button)
  }

  for (const link of document.querySelectorAll('[data-copies]')) {
    link.replaceWith(copyButton(link.textContent, function () {
      if (link.dataset.copies !== 'text') return document.getElementById(link.dataset.copies).textContent
      return textOf('.band .status').concat(textOf('h1'), textOf('#request .asked').join(' '), textOf('.trace pre')).join('\n\n') + '\n'
    }))
  }

  const find = document.querySelector('#logs .find')
  if (find) {
    const input = find.querySelector('input')
    const rows = [...document.querySelectorAll('#logs tbody tr')]
    let texts
    find.classList.add('works')
    input.addEventListener('input', function () {
      const wanted = input.value.toLowerCase()
      let shown = 0
      texts = texts || rows.map(function (row) { return row.textContent.toLowerCase() })
      rows.forEach(function (row, i) {
        const fits = texts[i].includes(wanted)
        if (fits) shown++
        if (row.hidden === fits) row.hidden = !fits
      })
      said.textContent = shown + (shown === 1 ? ' line contains it' : ' lines contain it')
    })
  }
})()
