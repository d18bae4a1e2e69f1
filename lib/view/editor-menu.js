(function () {
  'use strict'
  const KEY = 'hindsight-editor'
  const menu = document.querySelector('.editor-menu')
  if (!menu) return
  const select = menu.querySelector('select')
  // The configured template as a pattern: its groups are the values of the placeholders.
  const pattern = new RegExp('^' + select.value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/%f/, '(?<f>.+?)').replace(/%([lc])/g, '(?<$1>\\d+)') + '$')
  const links = [...document.links].flatMap(function (link) {
    const groups = pattern.exec(link.getAttribute('href'))?.groups
    return groups ? [{ link, groups }] : []
  })

  function apply () {
    const template = select.value
    // In a path `C:/…` needs a slash before it, in the value of a parameter it does not.
    const slash = template.includes('?') ? '' : '/'
    for (const { link, groups: { f, ...position } } of links) {
      const values = { f: f.replace(/^\/?(?=[A-Za-z]:)/, slash), ...position }
      link.setAttribute('href', template.replace(/%([flc])/g, function (_, name) { return values[name] || '1' }))
    }
  }

  // Storage is refused in a sandbox: the choice then holds for this page only.
  function storage (action) {
    try { return action(localStorage) } catch {}
  }

  const chosen = storage(function (storage) { return storage.getItem(KEY) })
  const option = [...select.options].find(function ({ text }) { return text === chosen })
  if (option && !option.selected) {
    option.selected = true
    apply()
  }
  select.addEventListener('change', function () {
    apply()
    storage(function (storage) { storage.setItem(KEY, select.selectedOptions[0].text) })
  })
  menu.hidden = false
})()
