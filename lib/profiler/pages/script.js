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
const INTERVAL = 1000

function ageOf (ms) {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return seconds + ' s ago'
  if (seconds < 3600) return Math.floor(seconds / 60) + ' min ago'
  return seconds < 86400 ? Math.floor(seconds / 3600) + ' h ago' : Math.floor(seconds / 86400) + ' d ago'
}

if (live !== null && 'EventSource' in window) {
  const button = live.querySelector('button')
  const state = live.querySelector('.live-state')
  const table = document.querySelector('.profiles')
  const body = table.tBodies[0]
  const changed = new Set()
  let source = null
  let added = 0

  const tokenOf = (row) => row.querySelector('th a').textContent

  // The server renders the newest rows. Unchanged ones are reused: they keep their check boxes and the focus.
  const refresh = async function () {
    const tokens = new Set(changed)
    changed.clear()
    const response = await fetch(location.href, { headers: { accept: 'text/html' } })
    if (!response.ok) return
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    const known = new Map([...body.rows].map((row) => [tokenOf(row), row]))
    const rows = [...page.querySelectorAll('.profiles tbody tr')]
    added += rows.filter((row) => !known.has(tokenOf(row))).length
    const focused = document.activeElement
    body.replaceChildren(...rows.map((row) => tokens.has(tokenOf(row)) ? row : known.get(tokenOf(row)) ?? row))
    if (document.contains(focused)) focused.focus({ preventScroll: true })
    table.hidden = rows.length === 0
    if (!table.hidden) document.querySelector('.empty')?.remove()
  }

  const follow = function (isOn) {
    button.setAttribute('aria-pressed', String(isOn))
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
    for (const time of document.querySelectorAll('time.ago')) {
      time.textContent = ageOf(Date.now() - Date.parse(time.dateTime))
    }
    if (source === null || changed.size === 0) return
    const before = added
    await refresh().catch(() => {})
    if (added > before) state.textContent = added + (added === 1 ? ' new profile' : ' new profiles')
  }, INTERVAL)
  // A page in the back/forward cache must not keep its connection.
  addEventListener('pagehide', () => source?.close())
  addEventListener('pageshow', function (event) { if (event.persisted && source !== null) follow(true) })
  follow(true)
}
