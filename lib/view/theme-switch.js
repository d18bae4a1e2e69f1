(function () {
  'use strict'
  const KEY = 'hindsight-theme'
  const NEXT = { system: 'light', light: 'dark', dark: 'system' }
  const root = document.documentElement
  const button = document.querySelector('.theme-switch')

  function show (theme) {
    if (theme === 'system') delete root.dataset.theme
    else root.dataset.theme = theme
    button.lastElementChild.textContent = theme
  }

  button.hidden = false
  button.addEventListener('click', function () {
    const theme = NEXT[root.dataset.theme || 'system']
    show(theme)
    // Storage is refused in a sandbox: the choice then holds for this page only.
    try {
      if (theme === 'system') localStorage.removeItem(KEY)
      else localStorage.setItem(KEY, theme)
    } catch {}
  })
  show(root.dataset.theme || 'system')
})()
