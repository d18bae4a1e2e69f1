/* global copyButton */
// Applies filters when they change. Without this script their button applies them.
for (const form of document.querySelectorAll('form.filters')) {
  form.addEventListener('change', () => form.requestSubmit())
}

// The clipboard interface exists in secure contexts only: on plain http, beyond localhost, the links to the texts stay.
for (const link of navigator.clipboard ? document.querySelectorAll('a[data-copy]') : []) {
  link.replaceWith(copyButton(link.textContent, async function () {
    const response = await fetch(link.href)
    if (!response.ok) throw new Error(response.statusText)
    return await response.text()
  }))
}

// Shows a plan below its query. Without this script it is a page.
for (const form of document.querySelectorAll('form.plans')) {
  form.addEventListener('submit', async function (event) {
    event.preventDefault()
    const { submitter } = event
    const body = new URLSearchParams(new FormData(form, submitter))
    const response = await fetch(form.action, { method: 'POST', headers: { accept: 'text/html' }, body })
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    const plan = page.querySelector('#plan') ?? page.querySelector('main')
    plan.removeAttribute('id')
    submitter.closest('td').append(plan)
    submitter.disabled = true
  })
}

// Storage is refused in a sandbox.
for (const box of document.querySelectorAll('[name=column]')) {
  const key = 'hindsight-column-' + box.value
  try {
    box.checked = (localStorage.getItem(key) ?? String(box.checked)) === 'true'
    box.addEventListener('change', () => localStorage.setItem(key, box.checked))
  } catch {}
}

// The form finds the same lines without the script. A page that was filtered has no others.
const filter = document.querySelector('.panel-logs [name=q]')
const isWhole = filter?.defaultValue === ''
filter?.addEventListener('input', () => {
  if (!isWhole) return
  const text = filter.value.toLowerCase()
  const rows = [...document.querySelectorAll('.logs tr.log')]
  for (const row of rows) row.hidden = !row.querySelector('.text').textContent.toLowerCase().includes(text)
  const count = document.querySelector('.log-count')
  count.textContent = count.textContent.replace(/^[\d,]+/, rows.filter((row) => !row.hidden).length)
})

function countSelected () {
  const count = document.querySelectorAll('.profiles [name=profile]:checked').length
  for (const button of document.querySelectorAll('#compare button')) {
    button.textContent = 'Compare selected (' + count + ')'
    button.disabled = count !== 2
  }
}

document.addEventListener('change', countSelected)
addEventListener('pageshow', countSelected)
countSelected()

const live = document.querySelector('.live')
if (live !== null) {
  const button = live.querySelector('button')
  const state = live.querySelector('.live-state')
  const results = document.querySelector('.results')
  let source = null
  let isOutdated = false

  // Whether the list is paused or scrolled, or a row is selected, expanded, focused or pressed.
  const isKept = function () {
    const isScrolled = results.getBoundingClientRect().top < 0
    return source === null || isScrolled || results.querySelector(':checked, :focus, :active') !== null
  }

  // Replaces the rows by the newest.
  const refresh = async function () {
    // The durations of requests that have not ended change.
    if (results.querySelector('.waiting') !== null) isOutdated = true
    if (!isOutdated || isKept()) return
    isOutdated = false
    const response = await fetch(location.href, { headers: { accept: 'text/html' } })
    if (!response.ok) return
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    // The list may have been used during the request.
    if (isKept()) {
      isOutdated = true
      return
    }
    results.replaceChildren(...page.querySelector('.results').childNodes)
    document.querySelector('link[rel=icon]').href = page.querySelector('link[rel=icon]').getAttribute('href')
    state.textContent = 'Live'
  }

  const follow = function (isOn) {
    button.textContent = isOn ? 'Pause' : 'Live'
    state.textContent = isOn ? 'Live' : 'Paused'
    source?.close()
    source = isOn ? new EventSource(live.dataset.stream) : null
    // The stream has only what arrives later: not what arrived while the list was paused or not connected.
    source?.addEventListener('open', () => { isOutdated = true })
    source?.addEventListener('profile', function () {
      isOutdated = true
      state.textContent = 'New profiles'
    })
    source?.addEventListener('waiting', () => { isOutdated = true })
    source?.addEventListener('error', ({ target }) => { if (target.readyState === EventSource.CLOSED) follow(false) })
  }

  live.hidden = false
  button.addEventListener('click', () => follow(source === null))
  setInterval(() => { refresh().catch(() => {}) }, 1000)
  // Updates the ages of the profiles.
  setInterval(() => { isOutdated = true }, 30_000)
  follow(true)
}

const shortcuts = document.querySelector('.shortcuts')
const enabled = shortcuts.querySelector('input')
const help = document.querySelector('.help')
let previousKey = ''

// Storage is refused in a sandbox: the choice then holds for this page only.
try {
  enabled.checked = localStorage.getItem('hindsight-shortcuts') !== 'off'
  enabled.addEventListener('change', () => localStorage.setItem('hindsight-shortcuts', enabled.checked ? 'on' : 'off'))
} catch {}
help.hidden = false
help.addEventListener('click', () => shortcuts.showModal())

function moveFocus (step) {
  const links = [...document.querySelectorAll('.profiles tbody th a')].filter((link) => link.offsetParent !== null)
  const at = links.findIndex((link) => link.closest('tr').contains(document.activeElement))
  links[at === -1 ? 0 : Math.max(0, Math.min(links.length - 1, at + step))]?.focus()
}

// In the list the next row, otherwise the next profile.
function moveTo (rel, step) {
  const neighbor = document.querySelector('.summary a[rel=' + rel + ']')
  if (neighbor === null) moveFocus(step)
  else neighbor.click()
}

const queryBox = document.querySelector('.search [name=q]')
if (location.hash === '#search') queryBox?.focus()

const ACTIONS = {
  '/': function () {
    if (queryBox === null) location.assign(document.querySelector('.brand').href + '#search')
    else queryBox.focus()
  },
  j: () => moveTo('next', 1),
  k: () => moveTo('prev', -1),
  o: () => document.activeElement.closest('.profiles tbody tr')?.querySelector('th a').click(),
  'g e': () => document.querySelector('.top a[href$="latest?error=1"]').click(),
  '?': () => shortcuts.showModal()
}

document.addEventListener('keydown', function (event) {
  const { key, target } = event
  const action = ACTIONS[previousKey + ' ' + key] ?? (key.length === 1 ? ACTIONS[key] : undefined)
  if (!enabled.checked || shortcuts.open || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return
  if (target.closest('input:not([type=checkbox], [type=radio]), select, textarea')) return
  previousKey = key
  if (action === undefined) return
  event.preventDefault()
  action()
})
