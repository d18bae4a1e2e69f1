import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { build, listen } from '../../../../support/app.js'
import { chromium } from '../../../support/browser.js'
import { axeViolationsOfThemes, OBSERVE_SHIFTS, overflow, watchedPage } from '../../../support/page.js'
import { HOSTILE } from '../../../../parts/hostile.js'

const page = (script = '') =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Page</title></head><body><main><h1>Page</h1><p>Text</p></main>${script}</body></html>\n`
const OWN = '<style nonce="own">p { color: rgb(1, 2, 3) }</style><script nonce="own">window.ran = true</script>'
const EARLY = `<script>
  fetch('/json?early'); fetch('/slow?early'); fetch('/nowhere').then((response) => response.text())
  const xhr = new XMLHttpRequest(); xhr.open('POST', '/chunks'); xhr.send()
</script>`
const HELMET = "default-src 'self';base-uri 'self';font-src 'self' https: data:;form-action 'self';frame-ancestors 'self';img-src 'self' data:;" +
  "object-src 'none';script-src 'self';script-src-attr 'none';style-src 'self' https: 'unsafe-inline';upgrade-insecure-requests"

interface PolicyCase {
  policy: string
  /** Whether the toolbar is shown in the service and with the package. */
  service: boolean
  package: boolean
  /** Whether the page has a style and a script of its own, which the policy allows. */
  own?: boolean
  reportOnly?: boolean
}

const POLICIES: Readonly<Record<string, PolicyCase>> = {
  self: { policy: "default-src 'self'", service: true, package: true },
  helmet: { policy: HELMET, service: true, package: true },
  both: { policy: "default-src 'self' 'unsafe-inline'", service: true, package: true, own: true },
  inline: { policy: "default-src 'unsafe-inline'", service: false, package: false, own: true },
  dynamic: { policy: "default-src 'self' 'nonce-own' 'strict-dynamic'", service: true, package: false, own: true },
  nonces: { policy: "default-src 'none'; style-src 'nonce-own'; script-src 'nonce-own'", service: true, package: false, own: true },
  none: { policy: "default-src 'none'", service: false, package: false },
  hashes: { policy: "default-src 'self'; script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='", service: false, package: false },
  trusted: { policy: "default-src 'self' 'nonce-own'; require-trusted-types-for 'script'; trusted-types 'none'", service: false, package: false, own: true },
  foreign: { policy: 'sandbox allow-scripts', service: false, package: false, own: true },
  quiet: { policy: 'sandbox allow-same-origin', service: false, package: false },
  sandboxed: { policy: 'sandbox allow-scripts allow-same-origin', service: false, package: false, own: true },
  reported: { policy: "default-src 'none'", service: false, package: false, reportOnly: true }
}

const browser = await chromium(t)
if (browser !== undefined) {
  const reports: string[] = []
  const app: FastifyInstance = await build({
    contentSecurityPolicy: false,
    declare (app) {
      app.get('/', { config: { name: 'home' } }, async (_request, reply) => reply.type('text/html').send(page()))
      app.get('/hostile', { config: { name: HOSTILE } }, async (_request, reply) => reply.type('text/html').send(
        page('<style>* { all: unset !important; position: static !important; opacity: 0 !important; font-size: 90px !important }</style>')
      ))
      app.get('/early', async (_request, reply) => reply.type('text/html').send(page(EARLY)))
      app.get('/early/other', async (_request, reply) =>
        reply.type('text/html').header('referrer-policy', 'same-origin').send(page("<script>fetch('/json?early', { referrer: '/other' })</script>")))
      app.get('/early/home', async (_request, reply) => reply.type('text/html').send(page("<script>fetch('/json?early', { referrer: '/' })</script>")))
      app.get('/early/policy', async (request, reply) => {
        const { policy } = request.query as { policy: string }
        return await reply.type('text/html').header('referrer-policy', policy).send(page("<script>fetch('/json?early')</script>"))
      })
      app.get('/slow', async () => { await sleep(600); return 'x' })
      app.get('/policy/:name', async (request, reply) => {
        const { policy = '', own, reportOnly } = POLICIES[(request.params as { name: string }).name] ?? {}
        return reply
          .header(`content-security-policy${reportOnly === true ? '-report-only' : ''}`, `${policy}; report-uri /reports`)
          .type('text/html').send(page(own === true ? OWN : ''))
      })
      app.addContentTypeParser(['application/csp-report'], { parseAs: 'string' }, (_request, body, done) => { done(null, body) })
      app.post('/reports', async (request, reply) => { reports.push(String(request.body)); return await reply.code(204).send() })
      app.get('/json', async () => ({ a: 1 }))
      app.get('/lies', async (request, reply) => reply.header('x-debug-token-link', (request.query as { to: string }).to).send('x'))
      app.get('/chunks', async (_request, reply) => reply.send(Readable.from(['a', 'b', 'c'])))
      app.addHook('onSend', async (request, reply) => {
        // The last word, as a response of another origin would have it.
        if (request.url.startsWith('/lies')) reply.header('x-debug-token-link', (request.query as { to: string }).to)
      })
    }
  })
  t.teardown(() => app.close())
  const origin = `http://127.0.0.1:${await listen(app)}`
  const BAR = 'hindsight-toolbar'

  t.test('the toolbar is at the bottom, can be folded, is remembered, and is not printed', async t => {
    for (const width of [360, 700, 1280]) {
      const { page, heard } = await watchedPage(browser, origin, { viewport: { width, height: 400 } })
      for (const url of ['/', '/hostile']) {
        await page.goto(origin + url)
        const frame = page.locator(`${BAR} .frame`)
        const box = await frame.boundingBox()
        t.equal(Math.round((box?.y ?? 0) + (box?.height ?? 0)), 400, `${url} ${width}: at the bottom`)
        t.ok(box !== null && box.x >= 0 && box.height < 45 && Math.round(box.x + box.width) === width, `${url} ${width}: within the window`)
        if (url === '/') t.equal(await overflow(page), 0)
        await page.locator(`${BAR} .route .head`).focus()
        const pop = await page.locator(`${BAR} .route .pop`).boundingBox()
        t.ok(pop !== null && pop.x >= 0 && pop.y >= 0 && pop.x + pop.width <= width + 1, `${url} ${width}: the pop-up too`)
        await page.locator(`${BAR} .fold`).check()
        t.notOk(await page.locator(`${BAR} .profile .head`).isVisible(), 'folded')
        t.ok(await page.locator(`${BAR} .small`).isVisible(), 'the folded toolbar links to the profile')
        await page.reload()
        t.ok(await page.locator(`${BAR} .fold`).isChecked(), 'remembered')
        await page.locator(`${BAR} .fold`).uncheck()
        t.ok(await page.locator(`${BAR} .profile .head`).isVisible(), 'unfolded')
        await page.emulateMedia({ media: 'print' })
        t.notOk(await frame.isVisible(), 'not printed')
        await page.emulateMedia({ media: 'screen' })
      }
      t.same(heard, [])
      await page.close()
    }
  })

  t.test('the page is the same as without the toolbar', async t => {
    const { page } = await watchedPage(browser, origin)
    await page.goto(`${origin}/`)
    const facts = await page.evaluate(() => {
      const lies = () => [document.documentElement.scrollHeight, document.querySelector('p')?.getBoundingClientRect().top]
      const before = lies()
      const names = Object.keys(window)
      const { scripts } = document
      const result = {
        fetch: [fetch.name, fetch.length, String(fetch).includes('[native code]')],
        open: [XMLHttpRequest.prototype.open.name, XMLHttpRequest.prototype.open.length],
        descriptor: Object.getOwnPropertyDescriptor(XMLHttpRequest.prototype, 'send')?.enumerable,
        scripts: scripts.length,
        children: document.querySelector('hindsight-toolbar')?.childElementCount
      }
      document.querySelector('hindsight-toolbar')?.remove()
      return {
        ...result,
        same: JSON.stringify(before) === JSON.stringify(lies()),
        globals: names.filter((name) => /hindsight|toolbar/i.test(name) && name !== 'toolbar')
      }
    })
    t.same(facts, { fetch: ['fetch', 1, true], open: ['open', 2], descriptor: true, scripts: 0, children: 0, same: true, globals: [] })
    await page.close()
  })

  t.test('pop-ups open by hover and by keyboard, and close by Escape', async t => {
    const { page } = await watchedPage(browser, origin)
    await page.goto(`${origin}/`)
    const pop = page.locator(`${BAR} .time .pop`)
    t.notOk(await pop.isVisible())
    await page.locator(`${BAR} .time`).hover()
    t.ok(await pop.isVisible(), 'by hover')
    await page.locator('h1').hover()
    t.notOk(await pop.isVisible())
    await page.locator(`${BAR} .route .head`).focus()
    await page.keyboard.press('Tab')
    t.ok(await page.locator(`${BAR} .route dd a`).evaluate((link) => link.matches(':focus')), 'the handler')
    await page.keyboard.press('Tab')
    t.ok(await pop.isVisible(), 'by keyboard')
    await page.keyboard.press('Escape')
    t.notOk(await pop.isVisible(), 'Escape')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Shift+Tab')
    t.ok(await pop.isVisible(), 'it opens again')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/_profiler\/[0-9a-f]{6}\?panel=timeline$/)
    await page.close()
  })

  t.test('requests of the page are listed with their profiles, and are otherwise unchanged', async t => {
    const { page, heard } = await watchedPage(browser, origin)
    await page.goto(`${origin}/`)
    const result = await page.evaluate(async () => {
      const rejections: string[] = []
      addEventListener('unhandledrejection', (event) => { event.preventDefault(); rejections.push(String(event.reason)) })
      const json = await (await fetch('/json')).json() as unknown
      const stream = await fetch(new Request('/chunks', { method: 'GET' }))
      const untouched = [stream.bodyUsed, stream.body?.locked]
      let text = ''
      const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
      for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) text += part.value
      const failed = await fetch('/json', { signal: AbortSignal.abort() }).catch((error: unknown) => (error as Error).name)
      const wrong = await fetch('http://[').catch((error: unknown) => error instanceof TypeError)
      const odd = await fetch.call({} as Window, '/json').catch((error: unknown) => error instanceof TypeError)
      const post = await new Promise((resolve) => {
        const xhr = new XMLHttpRequest()
        xhr.open('get', '/nowhere')
        xhr.onload = () => resolve([xhr.status, xhr.readyState])
        xhr.send()
      })
      const early = (() => { try { new XMLHttpRequest().send() } catch (error) { return (error as Error).name } })()
      await new Promise((resolve) => setTimeout(resolve, 50))
      const handled = rejections.length
      fetch('/json', { signal: AbortSignal.abort() })
      await new Promise((resolve) => setTimeout(resolve, 50))
      return { json, untouched, text, failed, wrong, odd, post, early, handled, unhandled: rejections.length }
    })
    t.same(result, {
      json: { a: 1 },
      untouched: [false, false],
      text: 'abc',
      failed: 'AbortError',
      wrong: true,
      odd: true,
      post: [404, 4],
      early: 'InvalidStateError',
      handled: 0,
      unhandled: 1
    })
    await page.locator(`${BAR} .requests button`).click()
    const rows = await page.locator(`${BAR} .requests ol li`).evaluateAll(
      (rows) => rows.map((row) => [...row.children].slice(0, 3).map((cell) => cell.textContent).join(' ')).reverse()
    )
    t.same(rows.slice(0, 3), ['200 GET /json', '200 GET /chunks', 'failed GET /json'])
    t.ok(rows.includes('404 GET /nowhere'))
    t.match(await page.locator(`${BAR} .requests ol a`).last().getAttribute('href'), /^http:\/\/127\.0\.0\.1:\d+\/_profiler\/[0-9a-f]{6}$/)
    t.same(heard, [])
    await page.keyboard.press('Escape')
    t.notOk(await page.locator(`${BAR} .requests .pop`).isVisible())
    await page.close()
  })

  t.test('requests of inline scripts before the toolbar are listed, each once', async t => {
    const { page } = await watchedPage(browser, origin)
    await page.goto(`${origin}/early`)
    await page.evaluate(async () => { await Promise.all(['/json?early', '/json?late'].map(async (url) => await (await fetch(url)).text())) })
    // Each has its profile when it has ended, one of them after 600 ms.
    for (const part of ['li', 'a']) await page.locator(`${BAR} .requests ol ${part}`).nth(5).waitFor({ state: 'attached' })
    const rows = await page.locator(`${BAR} .requests ol li`).evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent ?? '')))
    t.same(
      rows.map((row) => row.slice(0, 3).join(' ')).sort(),
      ['200 GET /json?early', '200 GET /json?early', '200 GET /json?late', '200 GET /slow?early', '404 GET /nowhere', '405 POST /chunks']
    )
    const links = await page.locator(`${BAR} .requests ol a`).evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).href))
    t.equal(new Set(links).size, 6, 'each has a profile of its own')
    for (const link of links) t.match(link, /\/_profiler\/[0-9a-f]{6}$/)
    t.ok(rows.every(([, , , took]) => /^[\d.,]+ m?s$/.test(took ?? '')))
    t.equal(await page.locator(`${BAR} .requests .count`).textContent(), '6')
    t.equal(await page.locator(`${BAR} .requests .pop p`).textContent(), 'Requests of this page, 2 failed, timed by the browser')
    await page.locator(`${BAR} .requests button`).click()
    await page.locator(`${BAR} .requests ol li`, { hasText: '/slow' }).getByRole('link').click()
    t.match(await page.locator('main').textContent(), '/slow?early')
    await page.close()
  })

  t.test('a request before the toolbar whose profile is not that of this page is found by its path', async t => {
    for (const path of ['/early/other', '/early/home']) {
      const { page } = await watchedPage(browser, origin)
      await page.goto(origin + path)
      await page.locator(`${BAR} .requests button`).click()
      const row = page.locator(`${BAR} .requests ol li`, { hasText: '/json?early' })
      t.match(await row.getByRole('link', { name: 'find' }).getAttribute('href'), /\/_profiler\/search\?url=%2Fjson$/, path)
      t.match(await row.textContent(), '200–')
      await page.close()
    }
  })

  t.test('a request before the toolbar has its profile with each referrer policy of the page', async t => {
    for (const policy of ['origin', 'no-referrer', 'unsafe-url']) {
      const { page } = await watchedPage(browser, origin)
      await page.goto(`${origin}/early/policy?policy=${policy}`)
      await page.locator(`${BAR} .requests button`).click()
      const row = page.locator(`${BAR} .requests ol li`, { hasText: '/json?early' })
      t.match(await row.getByRole('link').getAttribute('href'), /\/_profiler\/[0-9a-f]{6}$/, policy)
      await page.close()
    }
  })

  t.test('the toolbar leads to a CPU profile of its page, and the link itself records nothing', async t => {
    const { page } = await watchedPage(browser, origin)
    await page.goto(`${origin}/`)
    await page.locator(`${BAR} .profile`).hover()
    const before = await app.hindsight.profiler.latest()
    await page.locator(`${BAR} .profile .pop a`, { hasText: 'Record a CPU profile' }).click()
    await page.getByRole('checkbox', { name: 'Record a CPU profile' }).waitFor()
    t.equal((await app.hindsight.profiler.latest())?.token, before?.token, 'a link sends nothing')
    await page.getByRole('button', { name: /^(?:Send|Replay)/ }).click()
    await page.waitForURL(/\?panel=cpu$/)
    await page.getByRole('heading', { name: 'Flame graph' }).waitFor()
    await page.close()
  })

  t.test('the toolbar and its list of requests do not shift the page', async t => {
    const { page } = await watchedPage(browser, origin)
    await page.addInitScript(OBSERVE_SHIFTS)
    await page.goto(`${origin}/early`)
    await page.locator(`${BAR} .requests`).waitFor()
    const shifts = await page.evaluate(async () => {
      await Promise.all(Array.from({ length: 50 }, async (_, i) => await (await fetch(`/json?${i}`)).text()))
      await new Promise((resolve) => setTimeout(resolve, 300))
      return (window as unknown as { shifts: string[] }).shifts
    })
    t.same(shifts, [])
    await page.close()
  })

  t.test('the last 100 of 500 requests are listed', async t => {
    const { page } = await watchedPage(browser, origin)
    await page.goto(`${origin}/`)
    await page.evaluate(async () => {
      for (let i = 0; i < 500; i += 50) await Promise.all(Array.from({ length: 50 }, async (_, j) => await fetch(`data:,${i + j}`)))
    })
    t.equal(await page.locator(`${BAR} .requests .count`).textContent(), '500')
    t.equal(await page.locator(`${BAR} .requests ol li`).count(), 100)
    t.match(await page.locator(`${BAR} .requests ol li`).first().textContent(), 'data:,499')
    await page.close()
  })

  t.test('hostile requests and headers remain text, and their links are ignored', async t => {
    const { page, heard } = await watchedPage(browser, origin)
    await page.goto(`${origin}/hostile`)
    for (const to of ['javascript:alert(1)', 'https://evil.example/_profiler/123456', '//evil.example/_profiler/123456', 'x']) {
      await page.evaluate(async (to) => await fetch(`/lies?to=${encodeURIComponent(to)}`).then(async (response) => await response.text()), to)
    }
    await page.evaluate(async (text) => await fetch(`data:,${text}`).catch(() => {}), '<img src=//evil.example onerror=alert(1)>')
    await page.locator(`${BAR} .requests button`).click()
    t.equal(await page.locator(`${BAR} .requests ol a`).count(), 0)
    t.equal(await page.locator(`${BAR} .requests ol li`).count(), 5)
    t.equal(await page.locator(`${BAR} :is(img, b)`).count(), 0)
    t.match(await page.locator(`${BAR} .route .name`).textContent(), '<script>alert(1)</script>')
    t.same(heard, [])
    await page.close()
  })

  for (const product of ['service', 'package'] as const) {
    t.test(`${product} mode: the toolbar respects the policy of the page, and no violation is reported`, async t => {
      const { lifecycle } = app.hindsight
      if (product === 'package') Object.assign(app.hindsight, { lifecycle: null })
      t.teardown(() => Object.assign(app.hindsight, { lifecycle }))
      for (const [name, { own, ...expected }] of Object.entries(POLICIES)) {
        const { page, heard } = await watchedPage(browser, origin)
        page.on('console', (message) => {
          // The scripts of the test itself are blocked too.
          const isOfTest = name === 'quiet' && message.text().startsWith('Blocked script execution')
          if (message.type() === 'error' && !isOfTest) heard.push(message.text())
        })
        await page.addInitScript(() => {
          addEventListener(
            'securitypolicyviolation', ({ effectiveDirective, blockedURI }) => { console.error(`violation ${effectiveDirective} ${blockedURI}`) }
          )
        })
        await page.goto(`${origin}/policy/${name}`, { waitUntil: 'load' })
        const isShown = expected[product]
        t.equal(await page.locator(BAR).count(), isShown ? 1 : 0, name)
        if (isShown) {
          t.equal(await page.locator(`${BAR} .frame`).evaluate((frame) => getComputedStyle(frame).display), 'flex', `${name}: styled`)
          await page.locator(`${BAR} .time`).hover()
          t.ok(await page.locator(`${BAR} .time .pop`).isVisible(), `${name}: pop-ups`)
          t.equal(await page.locator(`${BAR} > script`).count(), 0, `${name}: the script removes itself`)
        }
        if (own === true) {
          t.equal(await page.evaluate('window.ran'), true, `${name}: the page's script`)
          t.equal(await page.locator('main p').evaluate((p) => getComputedStyle(p).color), 'rgb(1, 2, 3)', `${name}: the page's style`)
        }
        t.same(heard, [], `${name}: nothing is refused`)
        await page.close()
      }
      t.same(reports, [])
    })
  }

  t.test('without its stylesheet the toolbar is hidden', async t => {
    const { page } = await watchedPage(browser, origin)
    await page.route('**/*.css', async (route) => await route.abort())
    await page.goto(`${origin}/`)
    t.notOk(await page.locator(`${BAR} .frame`).isVisible())
    t.equal(await overflow(page), 0)
    await page.close()
  })

  t.test('axe reports no issue for the open toolbar, in both themes', async t => {
    const { page } = await watchedPage(browser, origin)
    await page.goto(`${origin}/`)
    await page.evaluate(async () => { await Promise.all(['/json', '/nowhere'].map(async (url) => await fetch(url))) })
    await page.locator(`${BAR} .requests button`).click()
    t.same(await axeViolationsOfThemes(page), [])
    await page.locator(`${BAR} .route .head`).focus()
    t.same(await axeViolationsOfThemes(page), [], 'a pop-up')
    await page.close()
  })
}
