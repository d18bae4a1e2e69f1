(function () {
  'use strict'
  const MAX_ROWS = 100
  const FOLDED = 'hindsight-toolbar'
  const own = document.currentScript
  const root = own.parentNode.shadowRoot
  const dataUrl = own.dataset.more
  own.remove()
  // Browsers without declarative shadow roots have no toolbar.
  if (!root) return
  const $ = (selector) => root.querySelector(selector)
  const fold = $('.fold')
  const requests = $('.requests')
  const button = requests.querySelector('button')
  const list = requests.querySelector('ol')
  const realFetch = window.fetch

  // Errors of the toolbar must not become errors of the page.
  function attempt (action) {
    try {
      return action()
    } catch {}
  }

  // Without storage the state of the fold is not remembered.
  attempt(() => {
    fold.checked = localStorage[FOLDED] === 'folded'
    const theme = localStorage['hindsight-theme']
    if (theme) $('.frame').dataset.theme = theme
    // The editor that was chosen on a page of the profiler.
    const template = localStorage['hindsight-editor-url']
    const link = $('[data-file]')
    const { file } = link.dataset
    const path = /^\/|\?.*%f/.test(file[0] + template) ? file : '/' + file
    const values = { '%f': path, '%l': /\d+$/.exec(link.textContent), '%c': 1 }
    if (template) link.href = template.replace(/%[flc]/g, (name) => values[name])
  })
  fold.addEventListener('change', () => {
    attempt(() => { localStorage[FOLDED] = fold.checked ? 'folded' : '' })
  })

  // CSS opens pop-ups by hover and focus. Escape closes one until the pointer and the focus have left it.
  function setOpen (isOpen) {
    requests.toggleAttribute('data-open', isOpen)
    button.setAttribute('aria-expanded', isOpen)
  }
  const items = root.querySelectorAll('.item')
  for (const item of items) {
    item.onpointerleave = () => item.removeAttribute('data-closed')
    item.addEventListener('focusout', item.onpointerleave)
  }
  root.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    for (const item of items) if (item.matches(':hover, :focus-within, [data-open]')) item.dataset.closed = ''
    setOpen(false)
  })
  button.addEventListener('click', () => {
    const isOpen = !requests.matches('[data-open]:not([data-closed])')
    requests.toggleAttribute('data-closed', !isOpen)
    setOpen(isOpen)
  })

  function milliseconds (value) {
    return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 }) + ' ms'
  }

  // Values that were unknown when the page was sent are requested when the pointer or the focus first enters.
  let isRequested = dataUrl === undefined
  async function fill () {
    if (isRequested) return
    isRequested = true
    try {
      // Relative to the page: `<base>` may name another origin.
      const { href } = new URL(dataUrl, location.href)
      const data = await (await realFetch.call(window, href, { headers: { accept: 'application/json' } })).json()
      for (const place of root.querySelectorAll('[data-fill]')) {
        const value = data[place.dataset.fill]
        if (typeof value === 'number') place.textContent = milliseconds(value)
      }
    } catch {}
  }
  $('ul').addEventListener('pointerover', fill)
  $('ul').addEventListener('focusin', fill)

  // Without the clipboard, or the right to connect, the link leads to the text.
  const copy = $('[data-copy]')
  copy.addEventListener('click', async (event) => {
    if (dataUrl === undefined || !navigator.clipboard) return
    event.preventDefault()
    try {
      const response = await realFetch.call(window, location.origin + copy.pathname)
      if (!response.ok) throw response
      await navigator.clipboard.writeText(await response.text())
      copy.lastChild.textContent = ': copied'
    } catch {
      location = copy.href
    }
  })

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
  attempt(() => new PerformanceObserver((entries) => {
    for (const { name, initiatorType, startTime, duration, responseStatus } of entries.getEntries()) {
      if (startTime >= now || !/^(fetch|xmlhttprequest)$/.test(initiatorType)) continue
      // An entry has no headers: the list of profiles is searched for its path.
      const { origin, pathname } = new URL(name)
      const search = $('.profile a').href.replace(/\w+$/, 'search?url=' + encodeURIComponent(pathname))
      begin('–', name)(responseStatus || undefined, origin === location.origin && search, 'find', duration)
    }
  }).observe({ type: 'resource', buffered: true }))

  if (realFetch) {
    window.fetch = new Proxy(realFetch, {
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
  }

  const prototype = window.XMLHttpRequest?.prototype
  if (prototype === undefined) return
  const opened = new WeakMap()
  prototype.open = new Proxy(prototype.open, {
    apply (target, xhr, args) {
      const result = Reflect.apply(target, xhr, args)
      attempt(() => {
        const isFirst = !opened.has(xhr)
        opened.set(xhr, args.map(String))
        if (!isFirst) return
        let end
        xhr.addEventListener('loadstart', () => {
          const [method, url] = opened.get(xhr)
          end = attempt(() => begin(method.toUpperCase(), url))
        })
        xhr.addEventListener('loadend', () => attempt(() => {
          // getResponseHeader() of a header that is not exposed would log an error to the console.
          const link = /^x-debug-token-link: *(\S+)/im.exec(xhr.getAllResponseHeaders())
          end(xhr.status, profileLink(link?.[1], xhr.responseURL))
        }))
      })
      return result
    }
  })
})()
