// Filters apply when they change; without this script, by their button.
for (const form of document.querySelectorAll('form.filters')) {
  form.addEventListener('change', () => form.requestSubmit())
}

// The clipboard interface exists in secure contexts only, not on plain http beyond localhost.
async function copyText (text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.readOnly = true
    area.style.position = 'fixed'
    document.body.append(area)
    area.select()
    try {
      return document.execCommand('copy')
    } catch {
      return false
    } finally {
      area.remove()
    }
  }
}

const copyState = document.createElement('p')
copyState.className = 'hidden-visually'
copyState.setAttribute('role', 'status')
document.body.append(copyState)

// Buttons that copy replace links to the same text.
for (const link of document.querySelectorAll('a[data-copy]')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = link.textContent
  button.addEventListener('click', async function () {
    const isCopied = await fetch(link.href)
      .then((response) => response.ok ? response.text().then(copyText) : false)
      .catch(() => false)
    button.focus({ preventScroll: true })
    copyState.textContent = button.textContent = isCopied ? 'Copied' : 'Could not copy'
    setTimeout(function () { button.textContent = link.textContent }, 2000)
  })
  link.replaceWith(button)
}

const live = document.querySelector('.live')

function ageOf (ms) {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return seconds + ' s ago'
  if (seconds < 3600) return Math.floor(seconds / 60) + ' min ago'
  return seconds < 86400 ? Math.floor(seconds / 3600) + ' h ago' : Math.floor(seconds / 86400) + ' d ago'
}

// Equal elements of two versions of the list.
const identityOf = (element) => element.getAttribute('href') ?? element.getAttribute('formaction') ?? element.value

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

// Empty fields would make the address of a search long.
document.querySelector('.search')?.addEventListener('formdata', function ({ formData }) {
  for (const [name, value] of [...formData]) if (value === '') formData.delete(name)
})

if (live !== null && 'EventSource' in window) {
  const button = live.querySelector('button')
  const state = live.querySelector('.live-state')
  const results = document.querySelector('.results')
  const changed = new Set()
  let source = null
  let added = 0

  const tokens = (parent) => [...parent.querySelectorAll('.profiles [name=profile]')].map(({ value }) => value)

  // The server renders the newest rows; check boxes and the focus are kept.
  const refresh = async function () {
    changed.clear()
    const response = await fetch(location.href, { headers: { accept: 'text/html' } })
    if (!response.ok) return
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    const known = new Set(tokens(results))
    added += tokens(page).filter((token) => !known.has(token)).length
    const checked = new Set([...results.querySelectorAll('input:checked')].map(identityOf))
    const focused = results.contains(document.activeElement) ? identityOf(document.activeElement) : null
    const purge = results.querySelector('.stats:has([open])')
    results.replaceChildren(...page.querySelector('.results').childNodes)
    if (purge !== null) results.querySelector('.stats')?.replaceWith(purge)
    for (const element of results.querySelectorAll('.profiles :is(a, button, input)')) {
      if (element.type === 'checkbox') element.checked = checked.has(identityOf(element))
      if (identityOf(element) === focused) element.focus({ preventScroll: true })
    }
    countSelected()
    document.querySelector('link[rel=icon]').href = page.querySelector('link[rel=icon]').getAttribute('href')
  }

  const follow = function (isOn) {
    button.textContent = isOn ? 'Pause' : 'Live'
    source?.close()
    source = null
    state.textContent = isOn ? 'Waiting for requests' : 'Paused'
    if (!isOn) return
    source = new EventSource(live.dataset.stream)
    source.addEventListener('profile', (event) => changed.add(JSON.parse(event.data).token))
    source.addEventListener('error', function () {
      if (source?.readyState !== EventSource.CLOSED) return
      follow(false)
      state.textContent = 'The stream has ended'
    })
  }

  live.hidden = false
  button.addEventListener('click', () => follow(source === null))
  setInterval(async function () {
    for (const time of document.querySelectorAll('.profiles time')) {
      time.textContent = ageOf(Date.now() - Date.parse(time.dateTime))
      time.title = time.dateTime
    }
    // No row moves while one is pressed, or after the page was scrolled.
    const isInUse = results.matches(':active') || results.getBoundingClientRect().top < 0
    if (source === null || changed.size === 0 || isInUse) return
    const before = added
    await refresh().catch(() => {})
    if (added > before) state.textContent = added + (added === 1 ? ' new profile' : ' new profiles')
  }, 1000)
  // A page in the back/forward cache must not keep its connection.
  addEventListener('pagehide', () => source?.close())
  addEventListener('pageshow', function (event) { if (event.persisted && source !== null) follow(true) })
  follow(true)
}
