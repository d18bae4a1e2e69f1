(function () {
  'use strict'
  const MAX_ROWS = 100
  const FOLDED = 'hindsight-toolbar'
  const own = document.currentScript
  const host = own.parentNode
  const dataUrl = own.dataset.more
  own.remove()
  let root = host.shadowRoot
  const template = host.querySelector('template')
  // Browsers without declarative shadow roots leave the template in the page.
  if (root === null && template !== null) {
    root = host.attachShadow({ mode: 'open' })
    root.append(template.content)
    template.remove()
  }
  if (root === null) return
  const frame = root.querySelector('.frame')
  const fold = root.querySelector('.fold')
  const requests = root.querySelector('.requests')
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
  attempt(function () {
    fold.checked = localStorage.getItem(FOLDED) === 'folded'
    const theme = localStorage.getItem('hindsight-theme')
    if (theme !== null) frame.dataset.theme = theme
  })
  fold.addEventListener('change', function () {
    attempt(() => fold.checked ? localStorage.setItem(FOLDED, 'folded') : localStorage.removeItem(FOLDED))
  })

  // CSS opens pop-ups by hover and focus. Escape closes one until the pointer and the focus have left it.
  function setOpen (isOpen) {
    requests.toggleAttribute('data-open', isOpen)
    button.setAttribute('aria-expanded', String(isOpen))
  }
  for (const item of root.querySelectorAll('.item')) {
    const reopen = () => item.removeAttribute('data-closed')
    item.addEventListener('pointerleave', reopen)
    item.addEventListener('focusout', reopen)
  }
  root.addEventListener('keydown', function (event) {
    if (event.key !== 'Escape') return
    for (const item of root.querySelectorAll('.item:is(:hover, :focus-within, [data-open])')) item.dataset.closed = ''
    setOpen(false)
  })
  button.addEventListener('click', function () {
    const isOpen = requests.dataset.open === undefined || requests.dataset.closed !== undefined
    requests.toggleAttribute('data-closed', !isOpen)
    setOpen(isOpen)
  })

  function milliseconds (value) {
    return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 2 : value < 100 ? 1 : 0 }) + ' ms'
  }

  function megabytes (value) {
    return (value / 1e6).toLocaleString('en', { maximumFractionDigits: 1 }) + ' MB'
  }

  // Values that were unknown when the page was sent are requested when the pointer or the focus first enters.
  let isRequested = dataUrl === undefined
  async function fill () {
    if (isRequested) return
    isRequested = true
    try {
      // Relative to the page: `<base>` may name another origin.
      const { href } = new URL(dataUrl, location.href)
      const response = await realFetch.call(window, href, { headers: { accept: 'application/json' } })
      const data = response.ok ? await response.json() : {}
      for (const place of root.querySelectorAll('[data-fill]')) {
        const { fill } = place.dataset
        const format = fill === 'memory' ? megabytes : milliseconds
        if (typeof data[fill] === 'number') place.textContent = format(data[fill])
      }
    } catch {}
  }
  root.querySelector('ul').addEventListener('pointerover', fill)
  root.querySelector('ul').addEventListener('focusin', fill)

  // Without the clipboard, or the right to connect, the link leads to the text.
  const copy = root.querySelector('[data-copy]')
  copy.addEventListener('click', async function (event) {
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

  function nameOf (url) {
    const { origin, pathname, search, href } = new URL(url, document.baseURI)
    return origin === location.origin ? pathname + search : href
  }

  // Responses of other origins can contain any URL: only profiles of their origin or of this one are linked.
  function profileLink (link, url) {
    const { protocol, origin, pathname } = new URL(link)
    const isOwn = origin === location.origin || origin === new URL(url || location.href, location.href).origin
    return isOwn && /^https?:$/.test(protocol) && /\/_profiler\/[0-9a-f]{6}$/.test(pathname) ? link : null
  }

  // Adds a row, and returns the function that completes it.
  let count = 0
  function begin (method, url) {
    const startedAt = performance.now()
    const name = attempt(() => nameOf(url)) ?? String(url)
    const texts = { code: '…', method, where: name, took: '', link: '' }
    const cells = Object.entries(texts).map(function ([className, textContent]) {
      return Object.assign(document.createElement('span'), { className, textContent })
    })
    const [code, , where, took, link] = cells
    where.title = String(url)
    const row = document.createElement('li')
    row.append(...cells)
    list.prepend(row)
    if (list.childElementCount > MAX_ROWS) list.lastElementChild.remove()
    requests.hidden = false
    requests.querySelector('.count').textContent = String(++count)
    requests.querySelector('.label').textContent = count === 1 ? 'request' : 'requests'
    return function end (status, finalUrl, profile) {
      code.textContent = status === 0 ? 'failed' : String(status)
      code.className = 'code code-' + Math.trunc(status / 100)
      if (status === 0 || status >= 400) requests.classList.add('bad')
      took.textContent = milliseconds(performance.now() - startedAt)
      const href = profile && attempt(() => profileLink(profile, finalUrl))
      if (!href) return
      const anchor = document.createElement('a')
      link.append(Object.assign(anchor, { href, target: '_top', textContent: href.slice(-6) }))
    }
  }

  if (typeof realFetch === 'function') {
    window.fetch = new Proxy(realFetch, {
      apply (target, self, args) {
        const promise = Reflect.apply(target, self, args)
        const end = attempt(function () {
          const [input, init] = args
          const { method, url } = input instanceof Request ? input : { method: 'GET', url: String(input) }
          return begin(String(init?.method ?? method).toUpperCase(), url)
        })
        if (end === undefined || typeof promise?.then !== 'function') return promise
        return promise.then(function (response) {
          attempt(function () {
            // Opaque responses of other origins have neither status nor headers.
            const isOpaque = response.type === 'opaque' || response.type === 'opaqueredirect'
            const link = isOpaque ? null : response.headers.get('x-debug-token-link')
            end(isOpaque ? response.status || 200 : response.status, response.url, link)
          })
          return response
        }, function (error) {
          attempt(() => end(0, '', null))
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
      attempt(() => opened.set(xhr, [String(args[0]).toUpperCase(), String(args[1])]))
      return result
    }
  })
  prototype.send = new Proxy(prototype.send, {
    apply (target, xhr, args) {
      const end = attempt(() => opened.has(xhr) ? begin(...opened.get(xhr)) : undefined)
      if (end !== undefined) {
        opened.delete(xhr)
        xhr.addEventListener('loadend', function () {
          attempt(function () {
            // getResponseHeader() of a header that is not exposed would log an error to the console.
            const link = /^x-debug-token-link: *(\S+)/im.exec(xhr.getAllResponseHeaders())
            end(xhr.status, xhr.responseURL, link && link[1])
          })
        }, { once: true })
      }
      return Reflect.apply(target, xhr, args)
    }
  })
})()
