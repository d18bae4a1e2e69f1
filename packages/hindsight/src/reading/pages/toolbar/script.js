/* global pageRoot */
(function () {
  'use strict'
  const MAX_ROWS = 100
  const FOLDED = 'hindsight-toolbar'
  const own = document.currentScript
  const isOfPage = typeof pageRoot !== 'undefined'
  const root = isOfPage ? pageRoot : own.parentNode.shadowRoot
  if (!isOfPage) own.remove()
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
  function linkOf (link, url) {
    const { protocol, origin, pathname } = attempt(() => new URL(link)) ?? {}
    const isOwn = origin === location.origin || origin === attempt(() => new URL(url).origin)
    const token = /^https?:$/.test(protocol) && tokenOf(pathname)
    if (!token) return {}
    return isOwn ? { href: link } : { passed: token }
  }

  const tokenOf = (link) => /\/_profiler\/([0-9a-f]{6})$/.exec(link)?.[1]

  const make = (name, properties) => Object.assign(document.createElement(name), properties)

  // Adds a row, and returns the function that completes it.
  let count = 0
  let failed = 0
  function begin (method, url) {
    const startedAt = performance.now()
    const page = document.URL
    const target = attempt(() => new URL(url, document.baseURI)) ?? { href: url }
    const isSame = target.origin === location.origin
    const where = isSame ? target.pathname + target.search : target.href
    const row = make('li')
    const texts = Object.entries({ code: '…', method, where, took: '', link: '' })
    const [code, , , took, link] = texts.map(([className, textContent]) =>
      row.appendChild(make('span', { className, textContent, title: textContent })))
    list.prepend(row)
    if (list.childElementCount > MAX_ROWS) list.lastChild.remove()
    $('.count').textContent = ++count
    const addLink = (href, textContent) => link.append(make('a', { href, target: '_top', textContent }))
    function end (status, href, text = href?.slice(-6), duration = performance.now() - startedAt) {
      code.textContent = status === 0 ? 'failed' : status ?? '–'
      code.className = 'code code-' + Math.trunc(status / 100)
      took.textContent = milliseconds(duration)
      if (status === 0 || status >= 400) {
        requests.classList.add('bad')
        failed++
        for (const place of requests.querySelectorAll('.failed')) place.textContent = `, ${failed} failed`
      }
      if (href) addLink(href, text)
    }
    // The message of a failure, and the profile where no header has its link.
    async function complete (status, href, passed) {
      let token = tokenOf(href)
      taken.add(token ?? passed)
      if (!href && status && target.origin === new URL(home).origin) {
        // A proxy passes on the address that its target has.
        const query = { url: target.pathname, status, method }
        const found = passed ? search({ token: passed }, page) : !isSame && profileOf(query, page)
        token = (await found)?.token
        if (token) addLink(profiler + token, token)
      }
      if (!token || !(status >= 400)) return
      const { exception: textContent } = await search({ token }) ?? {}
      if (textContent) row.append(make('span', { className: 'message', textContent }))
    }
    return (status, { href, text, duration, passed } = {}) => {
      end(status, href, text, duration)
      complete(status, href, passed).catch(() => {})
    }
  }

  // Requests that began before this moment do not pass the proxies below; all that begin later do. `startTime` has the
  // clock and the precision of `now()`: no request is in both groups.
  const now = performance.now()
  const send = window.fetch
  const profiler = $('.profile a').href.replace(/\w+$/, '')
  const home = profiler.replace(/_profiler\/$/, '')
  const firstPage = document.URL
  const taken = new Set()

  // A profile is stored after its response: an answer without the profile that is looked for is not the last one. The
  // answer has only what pages with the `Referer` of this search have requested: `page` was the URL of the page then.
  async function search (query, page, isWanted = () => true) {
    for (let tries = 5; tries > 0; tries--) {
      const url = `${home}_wdt/requests.json?${new URLSearchParams(query)}`
      const { profiles } = await (await send(url, { referrer: page })).json()
      const found = profiles.findLast(isWanted)
      if (found) return found
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }

  // Without a header, the profile is that of path, status and method, since the page was requested, which no other row
  // has. A policy that has allowed the request allows the search, too.
  async function profileOf (query, page) {
    return await search({ ...query, from: requests.dataset.since }, page, ({ token, url }) => {
      if (taken.has(token) || new URL(url).pathname !== query.url) return false
      taken.add(token)
      return true
    })
  }

  async function add (entry) {
    const { origin, pathname } = new URL(entry.name)
    const { responseStatus: status } = entry
    const isOwn = origin === new URL(home).origin
    // An entry has no method.
    const profile = isOwn && status ? await profileOf({ url: pathname, status }, firstPage).catch(() => {}) : undefined
    const search = isOwn && `${profiler}search?url=${encodeURIComponent(pathname)}`
    const [href, text] = profile ? [profiler + profile.token] : [search, 'find']
    begin(profile?.method ?? '–', entry.name)(status || undefined, { href, text, duration: entry.duration })
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
          end(type.startsWith('opaque') ? undefined : status, linkOf(headers.get('x-debug-token-link'), url))
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
          end(xhr.status, linkOf(link?.[1], xhr.responseURL))
        }), { once: true })
      })
      return result
    }
  })
})()
