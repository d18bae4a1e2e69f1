const copyState = document.createElement('p')
copyState.className = 'hidden-visually'
copyState.setAttribute('role', 'status')
document.body.append(copyState)

/** A button that copies a text; `textOf` returns it, or a promise of it. Pages have this script before their own. */
// eslint-disable-next-line no-unused-vars
function copyButton (label, textOf) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = label
  button.addEventListener('click', async function () {
    let result = 'Copied'
    try {
      await navigator.clipboard.writeText(await textOf())
    } catch {
      result = 'Could not copy'
    }
    copyState.textContent = button.textContent = result
    setTimeout(function () { button.textContent = label }, 2000)
  })
  return button
}
