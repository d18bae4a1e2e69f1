// Screen readers announce the result.
const copyResult = document.createElement('p')
copyResult.className = 'hidden-visually'
copyResult.setAttribute('role', 'status')
document.body.append(copyResult)

/** Makes a button that copies a text; `textOf` returns it, or a promise of it. */
function copyButton (label, textOf) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = label
  button.addEventListener('click', async function () {
    // The clipboard interface exists in secure contexts only, not on plain http beyond localhost.
    let result = 'Copied'
    try {
      await navigator.clipboard.writeText(await textOf())
    } catch {
      result = 'Could not copy'
    }
    copyResult.textContent = button.textContent = result
    setTimeout(function () { button.textContent = label }, 2000)
  })
  return button
}

for (const source of document.querySelectorAll('[data-copy]:not(a)')) {
  source.before(copyButton(source.dataset.copy, () => source.textContent))
}
