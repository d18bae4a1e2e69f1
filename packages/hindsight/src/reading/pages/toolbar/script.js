(function () {
  'use strict'
  const MAX_ROWS = 100
  const FOLDED = 'hindsight-toolbar'
  const own = document.currentScript
  const root = own.parentNode.shadowRoot
  own.remove()
  // Browsers without declarative shadow roots have no toolbar.
  if (!root) return
  const $ = (selector) => root.querySelector(selector)
  const fold = $('.fold')
  const requests = $('.requests')
  const list = requests.querySelector('ol')

  // Errors of the toolbar must not become errors of the page.
  function attempt (action) {
    try {
      return action()
    } catch {}
  }

  // Storage is refused in a sandbox: the state of the fold is then not remembered.
  attempt(() => { fold.checked = localStorage[FOLDED] === 'folded' })
  fold.addEventListener('change', () => {
    attempt(() => { localStorage[FOLDED] = fold.checked ? 'folded' : '' })
  })

  // CSS opens pop-ups by hover and focus. Escape closes one until the pointer and the focus have left it.
  const items = root.querySelectorAll('.item')
  for (const item of items) {
    item.onpointerleave = () => item.removeAttribute('data-closed')
    item.addEventListener('focusout', item.onpointerleave)
  }
  root.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    for (const item of items) if (item.matches(':hover, :focus-within')) item.dataset.closed = ''
  })

  // As the pages format durations.
  function milliseconds (value) {
    const [microseconds, seconds] = [Math.round(value * 1000), Math.round(value / 1000)]
    if (microseconds < 1000) return microseconds === 0 ? '< 1 µs' : `${microseconds} µs`
    if (value >= 120_000) return `${Math.floor(seconds / 60).toLocaleString('en')} min ${seconds % 60} s`
    let [number, digits, unit] = [value, 0, 'ms']
    if (value >= 10_000) [number, digits, unit] = [value / 1000, 1, 's']
    else if (value >= 999.5) [number, digits, unit] = [value / 1000, 2, 's']
    else if (value < 10) digits = 2
    else if (value < 100) digits = 1
    return `${number.toLocaleString('en', { maximumFractionDigits: digits })} ${unit}`
  }

  // Responses of other origins can contain any URL: only profiles of their origin or of this one are linked.
  function profileLink (link, url) {
    const { protocol, origin, pathname } = attempt(() => new URL(link)) ?? {}
    const isOwn = origin === location.origin || origin === attempt(() => new URL(url).origin)
    return isOwn && /^https?:$/.test(protocol) && /\/_profiler\/[0-9a-f]{6}$/.test(pathname) ? link : undefined
  }

  // Adds a row, and returns the function that completes it.
  let count = 0
  let failed = 0
  function begin (method, url) {
    const startedAt = performance.now()
    const target = attempt(() => new URL(url, document.baseURI)) ?? { href: url }
    const isSame = target.origin === location.origin
    const where = isSame ? target.pathname + target.search : target.href
    const row = document.createElement('li')
    const texts = Object.entries({ code: '…', method, where, took: '', link: '' })
    const [code, , , took, link] = texts.map(([className, textContent]) => {
      const cell = document.createElement('span')
      return row.appendChild(Object.assign(cell, { className, textContent, title: textContent }))
    })
    list.prepend(row)
    if (list.childElementCount > MAX_ROWS) list.lastChild.remove()
    $('.count').textContent = ++count
    return function end (status, href, text = href?.slice(-6), duration = performance.now() - startedAt) {
      code.textContent = status === 0 ? 'failed' : status ?? '–'
      code.className = 'code code-' + Math.trunc(status / 100)
      took.textContent = milliseconds(duration)
      if (status === 0 || status >= 400) {
        requests.classList.add('bad')
        failed++
        for (const place of requests.querySelectorAll('.failed')) place.textContent = `, ${failed} failed`
      }
      if (href) link.append(Object.assign(document.createElement('a'), { href, target: '_top', textContent: text }))
    }
  }

  // Requests that began before this moment do not pass the proxies below; all that begin later do. `startTime` has the
  // clock and the precision of `now()`: no request is in both groups.
  const now = performance.now()
  const send = window.fetch
  const profiler = $('.profile a').href.replace(/\w+$/, '')
  const taken = new Set()

  // An entry has no headers: its profile is that of the path and status, requested by this page since it was. A policy
  // that has allowed the request allows the search, too.
  async function profileOf ({ responseStatus }, path) {
    if (!responseStatus) return
    const query = new URLSearchParams({ url: path, status: responseStatus, from: requests.dataset.since })
    const response = await send(`${profiler}search.json?${query}`)
    const page = document.URL.split('#')[0]
    const found = (await response.json()).profiles.findLast(({ token, url, values = {} }) =>
      !taken.has(token) && new URL(url).pathname === path && [undefined, page].includes(values.refererUrl))
    if (found) taken.add(found.token)
    return found
  }

  async function add (entry) {
    const { origin, pathname } = new URL(entry.name)
    const isOwn = origin === location.origin
    const profile = isOwn ? await profileOf(entry, pathname).catch(() => {}) : undefined
    const search = isOwn && `${profiler}search?url=${encodeURIComponent(pathname)}`
    begin(profile?.method ?? '–', entry.name)(
      entry.responseStatus || undefined, profile ? profiler + profile.token : search, profile?.token ?? 'find',
      entry.duration)
  }

  attempt(() => new PerformanceObserver((entries) => {
    for (const entry of entries.getEntries()) {
      const isEarly = entry.startTime < now && /^(fetch|xmlhttprequest)$/.test(entry.initiatorType)
      if (isEarly) add(entry).catch(() => {})
    }
  }).observe({ type: 'resource', buffered: true }))

  window.fetch = new Proxy(window.fetch, {
    apply (target, self, args) {
      const promise = Reflect.apply(target, self, args)
      const end = attempt(() => {
        const [input, init] = args
        const { method, url } = input instanceof Request ? input : { method: 'GET', url: String(input) }
        return begin(String(init?.method ?? method).toUpperCase(), url)
      })
      if (end === undefined || typeof promise?.then !== 'function') return promise
      return promise.then((response) => {
        attempt(() => {
          // Opaque responses of other origins have neither status nor headers.
          const { type, status, url, headers } = response
          end(type.startsWith('opaque') ? undefined : status, profileLink(headers.get('x-debug-token-link'), url))
        })
        return response
      }, (error) => {
        attempt(() => end(0))
        throw error
      })
    }
  })

  const { prototype } = XMLHttpRequest
  prototype.open = new Proxy(prototype.open, {
    apply (target, xhr, args) {
      const result = Reflect.apply(target, xhr, args)
      attempt(() => {
        const [method, url] = args.map(String)
        let end
        xhr.addEventListener('loadstart', () => {
          end = attempt(() => begin(method.toUpperCase(), url))
        }, { once: true })
        xhr.addEventListener('loadend', () => attempt(() => {
          // getResponseHeader() of a header that is not exposed would log an error to the console.
          const link = /^x-debug-token-link: *(\S+)/im.exec(xhr.getAllResponseHeaders())
          end(xhr.status, profileLink(link?.[1], xhr.responseURL))
        }), { once: true })
      })
      return result
    }
  })
})()
