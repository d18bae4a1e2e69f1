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

  // The server renders the newest rows. They stay while one is selected, expanded, focused or pressed, or scrolled.
  const refresh = async function () {
    const isScrolled = results.getBoundingClientRect().top < 0
    const isInUse = isScrolled || results.querySelector(':checked, :focus, :active') !== null
    if (!isOutdated || isInUse) return
    isOutdated = false
    const response = await fetch(location.href, { headers: { accept: 'text/html' } })
    if (!response.ok) return
    const page = new DOMParser().parseFromString(await response.text(), 'text/html')
    results.replaceChildren(...page.querySelector('.results').childNodes)
    document.querySelector('link[rel=icon]').href = page.querySelector('link[rel=icon]').getAttribute('href')
    if (source !== null) state.textContent = 'Waiting for requests'
  }

  const follow = function (isOn) {
    button.textContent = isOn ? 'Pause' : 'Live'
    state.textContent = isOn ? 'Waiting for requests' : 'Paused'
    source?.close()
    source = isOn ? new EventSource(live.dataset.stream) : null
    source?.addEventListener('profile', function () {
      isOutdated = true
      state.textContent = 'New profiles'
    })
    source?.addEventListener('error', ({ target }) => { if (target.readyState === EventSource.CLOSED) follow(false) })
  }

  live.hidden = false
  button.addEventListener('click', () => follow(source === null))
  setInterval(() => { refresh().catch(() => {}) }, 1000)
  // Ages of profiles.
  setInterval(() => { isOutdated ||= source !== null }, 30_000)
  // A page in the back/forward cache must not keep its connection.
  addEventListener('pagehide', () => source?.close())
  addEventListener('pageshow', function (event) { if (event.persisted && source !== null) follow(true) })
  follow(true)
}
