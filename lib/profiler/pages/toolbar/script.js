(function () {
  'use strict'
  const MAX = 100
  const KEY = 'hindsight-toolbar'
  const own = document.currentScript
  const host = own.parentNode
  const more = own.dataset.more
  own.remove()
  let root = host.shadowRoot
  const template = host.querySelector('template')
  // A browser without declarative shadow roots leaves the template in the page.
  if (root === null && template !== null) {
    root = host.attachShadow({ mode: 'open' })
    root.append(template.content)
    template.remove()
  }
  if (root === null) return
  const frame = root.querySelector('.frame')
  const fold = root.querySelector('.fold')
  const watched = root.querySelector('.requests')
  const list = watched.querySelector('ol')
  const realFetch = window.fetch

  // Storage may be unavailable; then the state of the fold is not remembered.
  try {
    fold.checked = localStorage.getItem(KEY) === 'folded'
    const theme = localStorage.getItem('hindsight-theme')
    if (theme !== null) frame.dataset.theme = theme
  } catch {}
  fold.addEventListener('change', function () {
    try {
      if (fold.checked) localStorage.setItem(KEY, 'folded')
      else localStorage.removeItem(KEY)
    } catch {}
  })

  function milliseconds (value) {
    return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 }) + ' ms'
  }

  // CSS opens pop-ups by hover and focus. Escape closes one until the pointer and the focus have left it.
  for (const item of root.querySelectorAll('.item')) {
    const reopen = function () { delete item.dataset.closed }
    item.addEventListener('pointerleave', reopen)
    item.addEventListener('focusout', reopen)
  }
  root.addEventListener('keydown', function (event) {
    if (event.key !== 'Escape') return
    for (const item of root.querySelectorAll('.item:is(:hover, :focus-within, [data-open])')) {
      item.dataset.closed = ''
      close(item)
    }
  })
  function close (item) {
    delete item.dataset.open
    item.querySelector('[aria-expanded]')?.setAttribute('aria-expanded', 'false')
  }
  const button = watched.querySelector('button')
  button.addEventListener('click', function () {
    const open = watched.dataset.open === undefined || watched.dataset.closed !== undefined
    delete watched.dataset.closed
    if (open) watched.dataset.open = ''
    else watched.dataset.closed = ''
    if (!open) delete watched.dataset.open
    button.setAttribute('aria-expanded', String(open))
  })

  function megabytes (value) {
    return (value / 1e6).toLocaleString('en', { maximumFractionDigits: 1 }) + ' MB'
  }

  // Values that were unknown when the page was sent are requested once, when the pointer or the focus enters.
  let requested = more === undefined
  async function fill () {
    if (requested) return
    requested = true
    try {
      // Relative to the page: `<base>` may name another origin.
      const url = new URL(more, location.href)
      const response = await realFetch.call(window, url.href, { headers: { accept: 'application/json' } })
      if (!response.ok) return
      const data = await response.json()
      for (const place of root.querySelectorAll('[data-fill]')) {
        const value = data[place.dataset.fill]
        if (typeof value !== 'number') continue
        place.textContent = place.dataset.fill === 'memory' ? megabytes(value) : milliseconds(value)
      }
    } catch {}
  }
  root.querySelector('ul').addEventListener('pointerover', fill)
  root.querySelector('ul').addEventListener('focusin', fill)

  function part (className, text) {
    const made = document.createElement('span')
    made.className = className
    made.textContent = text
    return made
  }

  function nameOf (url) {
    try {
      const { origin, pathname, search, href } = new URL(url, document.baseURI)
      return origin === location.origin ? pathname + search : href
    } catch {
      return String(url)
    }
  }

  // The header of a foreign response can contain any URL. Links lead to profiles of its origin or of this one only.
  function profileLink (link, url) {
    try {
      const { protocol, origin, pathname } = new URL(link)
      const from = new URL(url || location.href, location.href).origin
      if (!/^https?:$/.test(protocol) || (origin !== location.origin && origin !== from)) return null
      return /\/_profiler\/[0-9a-f]{6}$/.test(pathname) ? link : null
    } catch {
      return null
    }
  }

  let count = 0
  function begin (method, url) {
    const row = document.createElement('li')
    const startedAt = performance.now()
    const code = part('code', '…')
    const name = part('where', nameOf(url))
    const took = part('took', '')
    const link = part('link', '')
    name.title = String(url)
    row.append(code, part('method', method), name, took, link)
    list.prepend(row)
    if (list.childElementCount > MAX) list.lastElementChild.remove()
    watched.hidden = false
    watched.querySelector('.count').textContent = String(++count)
    watched.querySelector('.label').textContent = count === 1 ? 'request' : 'requests'
    return function end (status, finalUrl, token) {
      code.textContent = status === 0 ? 'failed' : String(status)
      code.className = 'code code-' + Math.trunc(status / 100)
      if (status === 0 || status >= 400) watched.classList.add('bad')
      took.textContent = milliseconds(performance.now() - startedAt)
      const href = token ? profileLink(token, finalUrl) : null
      if (href === null) return
      const anchor = document.createElement('a')
      anchor.href = href
      anchor.target = '_top'
      anchor.textContent = href.slice(-6)
      link.append(anchor)
    }
  }

  // An error of the toolbar must not become one of the page.
  function quietly (act) {
    try {
      return act()
    } catch {}
  }

  if (typeof realFetch === 'function') {
    window.fetch = new Proxy(realFetch, {
      apply (target, self, args) {
        const promise = Reflect.apply(target, self, args)
        const end = quietly(function () {
          const [input, init] = args
          const { method, url } = input instanceof Request ? input : { method: 'GET', url: String(input) }
          return begin(String(init?.method ?? method).toUpperCase(), url)
        })
        if (end === undefined || typeof promise?.then !== 'function') return promise
        return promise.then(function (response) {
          quietly(function () {
            // An opaque response of another origin has neither status nor headers.
            if (response.type === 'opaque' || response.type === 'opaqueredirect') end(response.status || 200, '', null)
            else end(response.status, response.url, response.headers.get('x-debug-token-link'))
          })
          return response
        }, function (error) {
          quietly(function () { end(0, '', null) })
          throw error
        })
      }
    })
  }

  const prototype = window.XMLHttpRequest?.prototype
  if (prototype !== undefined) {
    const opened = new WeakMap()
    prototype.open = new Proxy(prototype.open, {
      apply (target, xhr, args) {
        const result = Reflect.apply(target, xhr, args)
        quietly(function () { opened.set(xhr, [String(args[0]).toUpperCase(), String(args[1])]) })
        return result
      }
    })
    prototype.send = new Proxy(prototype.send, {
      apply (target, xhr, args) {
        const known = opened.get(xhr)
        const end = known && quietly(function () { return begin(known[0], known[1]) })
        if (end) {
          opened.delete(xhr)
          xhr.addEventListener('loadend', function () {
            quietly(function () {
              // getResponseHeader() of a header that is not exposed would log an error to the console.
              const token = /^x-debug-token-link: *(\S+)/im.exec(xhr.getAllResponseHeaders())
              end(xhr.status, xhr.responseURL, token && token[1])
            })
          }, { once: true })
        }
        return Reflect.apply(target, xhr, args)
      }
    })
  }
})()
