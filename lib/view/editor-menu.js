(function () {
  'use strict'
  const KEY = 'hindsight-editor'
  const PLACEHOLDER = /%[flc]/g
  const menu = document.querySelector('.editor-menu')
  if (!menu) return
  const select = menu.querySelector('select')
  const names = select.value.match(PLACEHOLDER)
  const literal = select.value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const pattern = new RegExp('^' + literal.replace(PLACEHOLDER, function (name) {
    return name === '%f' ? '(.+?)' : '(\\d+)'
  }) + '$')
  const links = [...document.links].flatMap(function (link) {
    const found = pattern.exec(link.getAttribute('href'))
    if (!found) return []
    const values = { '%l': '1', '%c': '1' }
    names.forEach(function (name, i) { values[name] = found[i + 1] })
    return { link, values }
  })

  function apply () {
    const template = select.value
    const inQuery = /\?.*%f/.test(template)
    for (const { link, values } of links) {
      link.setAttribute('href', template.replace(PLACEHOLDER, function (name) {
        if (name !== '%f') return values[name]
        // In a path `C:/…` needs a slash before it, in the value of a parameter it does not.
        const drive = /^\/?([A-Za-z]:.*)/.exec(values['%f'])
        return drive ? (inQuery ? '' : '/') + drive[1] : values['%f']
      }))
    }
  }

  let chosen = null
  // Storage is refused in a sandbox: the choice then holds for this page only.
  try { chosen = localStorage.getItem(KEY) } catch {}
  const option = [...select.options].find(function ({ text }) { return text === chosen })
  if (option && !option.selected) {
    option.selected = true
    apply()
  }
  select.addEventListener('change', function () {
    apply()
    try {
      localStorage.setItem(KEY, select.selectedOptions[0].text)
      // For the toolbar, which has no menu.
      localStorage.setItem(KEY + '-url', select.value)
    } catch {}
  })
  menu.hidden = false
})()
