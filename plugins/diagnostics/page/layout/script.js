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
    const copied = document.execCommand('copy')
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

  for (const source of document.querySelectorAll('[data-copy]')) {
    const button = document.createElement('button')
    const label = source.dataset.copy
    button.type = 'button'
    button.className = 'copy'
    button.textContent = label
    button.addEventListener('click', async function () {
      const copied = await copy(source.textContent)
      button.focus()
      button.textContent = copied ? 'Copied' : 'Could not copy'
      setTimeout(function () { button.textContent = label }, 2000)
    })
    source.before(button)
  }

  const filters = document.querySelector('#logs fieldset')
  if (filters) {
    const label = document.createElement('label')
    const input = document.createElement('input')
    const rows = [...document.querySelectorAll('#logs tbody tr')]
    label.className = 'find'
    input.type = 'search'
    label.append('Containing ', input)
    filters.append(label)
    input.addEventListener('input', function () {
      const wanted = input.value.toLowerCase()
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted)
    })
  }
})()
