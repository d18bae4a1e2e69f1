const live = document.querySelector('.live')
const table = document.querySelector('.profiles')
const MAX_ROWS = 200

// How long ago it was goes on while the page is looked at.
const tellTimes = function () {
  for (const time of document.querySelectorAll('time.ago')) time.textContent = ago(Date.now() - Date.parse(time.dateTime))
}

function ago (ms) {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return seconds + ' s ago'
  if (seconds < 3600) return Math.floor(seconds / 60) + ' min ago'
  return seconds < 86400 ? Math.floor(seconds / 3600) + ' h ago' : Math.floor(seconds / 86400) + ' d ago'
}

function element (name, className, ...content) {
  const made = document.createElement(name)
  if (className !== '') made.className = className
  made.append(...content)
  return made
}

// The same that the server shows instead of characters that vanish or reorder what stands around them.
function visible (value) {
  return String(value).replace(/[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]/gu, function (character) {
    const code = character.charCodeAt(0)
    return code < 32 ? String.fromCharCode(0x2400 + code) : '⟨U+' + code.toString(16).toUpperCase().padStart(4, '0') + '⟩'
  })
}

function milliseconds (value) {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 }) + ' ms'
}

function rowOf (profile) {
  const row = element('tr', 'is-new')
  if (profile.error) row.classList.add('has-problem')
  else if (profile.warnings > 0) row.classList.add('has-warning')
  const link = element('a', '', profile.token)
  link.href = live.dataset.base + '/' + encodeURIComponent(profile.token)
  const head = element('th', '', compareBox(profile.token), link)
  head.scope = 'row'
  const status = element('td', '', element('span', 'status status-' + Math.trunc(profile.status / 100), String(profile.status)))
  if (profile.error) status.append(element('span', 'hidden-visually', ' failed'))
  const text = element('td', 'text', visible(profile.url))
  if (profile.exception !== null) text.append(element('div', 'exception-line', visible(profile.exception)))
  else if (profile.warnings > 0) text.append(element('div', 'warning-line', profile.warnings + (profile.warnings === 1 ? ' warning logged' : ' warnings logged')))
  if (profile.parent) text.append(element('div', 'parent-line', 'caused by ', element('code', '', profile.parent)))
  const time = element('time', 'ago')
  time.dateTime = profile.time
  time.title = profile.time.replace('T', ' ').replace('Z', ' UTC')
  row.append(head, status, element('td', '', visible(profile.method)), text, element('td', 'number', milliseconds(profile.duration)),
    element('td', '', visible(profile.ip)), element('td', '', time), element('td', '', pinForm(profile.token)))
  return row
}

function compareBox (token) {
  const box = element('input', '')
  box.type = 'checkbox'
  box.name = 'profile'
  box.value = token
  box.setAttribute('form', 'compare')
  box.setAttribute('aria-label', 'Compare ' + token)
  return box
}

function field (name, value) {
  const made = element('input', '')
  made.type = 'hidden'
  made.name = name
  made.value = value
  return made
}

function pinForm (token) {
  const form = element('form', 'pin-form')
  form.method = 'post'
  form.action = live.dataset.base + '/' + encodeURIComponent(token) + '/pin'
  const button = element('button', '', 'Pin', element('span', 'hidden-visually', ' ' + token))
  button.name = 'pinned'
  button.value = '1'
  form.append(field('form_token', document.querySelector('[name=form_token]').value), field('back', location.search.slice(1)), button)
  return form
}

if (live !== null && 'EventSource' in window) {
  const button = live.querySelector('button')
  const state = live.querySelector('.live-state')
  let source = null
  let added = 0
  let told = 0

  const add = function (event) {
    const profile = JSON.parse(event.data)
    const body = table.tBodies[0]
    table.hidden = false
    document.querySelector('.empty')?.remove()
    // A token that is there already was stored anew.
    for (const link of body.querySelectorAll('th a')) if (link.textContent === profile.token) link.closest('tr').remove()
    body.prepend(rowOf(profile))
    while (body.rows.length > MAX_ROWS) body.lastElementChild.remove()
    added++
    tellTimes()
  }
  const follow = function (on) {
    button.setAttribute('aria-pressed', String(on))
    source?.close()
    source = null
    if (!on) {
      state.textContent = 'Paused'
      return
    }
    state.textContent = 'Waiting for requests'
    source = new EventSource(live.dataset.stream)
    source.addEventListener('profile', add)
    source.addEventListener('error', function () {
      if (source?.readyState !== EventSource.CLOSED) return
      follow(false)
      state.textContent = 'The stream has ended'
    })
  }
  live.hidden = false
  button.addEventListener('click', function () { follow(source === null) })
  // Once in a while, so that who listens to the page is not talked over.
  setInterval(function () {
    if (added > told) state.textContent = added + (added === 1 ? ' new profile' : ' new profiles')
    told = added
    tellTimes()
  }, 2000)
  // A page that is kept for going back must not keep its connection.
  addEventListener('pagehide', function () { source?.close() })
  addEventListener('pageshow', function (event) { if (event.persisted && source !== null) follow(true) })
  follow(true)
}
