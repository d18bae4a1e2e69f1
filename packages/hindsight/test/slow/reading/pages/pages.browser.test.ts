import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { parts } from '../../../../src/parts/index.js'
import { timeline } from '../../../../src/parts/timeline/index.js'
import { pageAssets } from '../../../../src/reading/pages/layout.js'
import { panelsOf } from '../../../../src/parts/read.js'
import { build, listen } from '../../../support/app.js'
import { inBothProducts } from '../../../support/products.js'
import { chromium, CLOSING } from '../../support/browser.js'
import { axeViolationsOfThemes, overflow, watchedPage } from '../../support/page.js'
import { failure, profile, tokens } from '../../../parts/fixture.js'
import { HOSTILE } from '../../../parts/hostile.js'
import { sample } from '../../../parts/sample.js'
import { html } from '../../../../src/view/text.js'
import { markup } from '../../../parts/support.js'

const LOUD = `${HOSTILE}<script nonce="x">alert(2)</script><img src="https://evil.example/x">${'long'.repeat(100)}`
const line = (level: 'debug' | 'info' | 'warn' | 'error', message: string, channel = 'app') =>
  ({ time: '2026-01-02T03:04:05.700Z', level, channel, message, context: { of: message } })

async function start (t: Test): Promise<{ app: FastifyInstance, origin: string }> {
  const app = await build()
  t.teardown(() => app.close())
  return { app, origin: `http://127.0.0.1:${await listen(app)}` }
}

const browser = await chromium(t)
if (browser !== undefined) {
  t.test('no panel has an axe issue, an overflow or an injection', async t => {
    const { app, origin } = await start(t)
    const hostile = { ...sample(LOUD), ip: '127.0.0.1' }
    app.hindsight.profiler.save(hostile)
    const names = panelsOf(parts, hostile).map(({ name }) => name)
    const { page, heard } = await watchedPage(browser, origin, { viewport: { width: 1280, height: 800 } })
    for (const name of names) {
      await page.goto(`${origin}/_profiler/3fa94c?panel=${name}`)
      t.same(await axeViolationsOfThemes(page), [], name)
      for (const width of [360, 1280, 1920]) {
        await page.setViewportSize({ width, height: 800 })
        t.equal(await overflow(page), 0, `${name}, ${width} pixels`)
      }
      // Names of files are bold.
      t.equal(await page.locator('main :is(script, img, b:not(.file b))').count(), 0, name)
    }
    t.same(heard, [])
    await page.close()
  })

  t.test('each kind of work has a color', async t => {
    const page = await browser.newPage()
    for (const kind of ['query', 'call', 'timer', 'socket', 'file operation']) {
      await page.setContent(`<style>${pageAssets.style.content}</style><svg><rect class="bar-${kind}"/></svg>`)
      const fill = await page.locator('rect').evaluate((shape) => getComputedStyle(shape).fill)
      t.not(fill, 'rgb(0, 0, 0)', kind)
    }
    await page.close()
  })

  t.test('labels of the time axis do not touch', async t => {
    const made = profile('000001')
    const charts: string[] = []
    for (let duration = 0.05; duration < 40_000; duration *= 1.5) {
      for (const after of [0, 1.1, 1.3, 30]) {
        const events = [{ stage: 'onRequest', listener: 'a', pass: 'main', outcome: 'ran', start: 0, duration }] as never
        const logs = after === 0 ? [] : [{ ...line('info', 'later'), time: made.time, offset: duration * after }]
        charts.push(markup(timeline, { ...made, duration, events, logs: logs as never }))
      }
    }
    const page = await browser.newPage()
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      const all = charts.join('')
      const content = `<div class="panel">${all}<div class="overview"><div>${all}</div></div></div>`
      await page.setContent(`<style>${pageAssets.style.content}</style><main class="profile">${content}</main>`)
      const gaps = await page.locator('.scale').evaluateAll((scales) => scales.map((scale) => {
        const boxes = [...scale.querySelectorAll('text')].map((label) => label.getBoundingClientRect()).filter((box) => box.width > 0)
          .sort((a, b) => a.left - b.left)
        return Math.min(...boxes.slice(1).map((box, i) => box.left - (boxes[i]?.right ?? 0)))
      }))
      t.equal(gaps.length, 2 * charts.length, 'of the panel and of the overview')
      t.same(gaps.filter((gap) => !(gap >= 4)), [], `${width} pixels`)
    }
    await page.close()
  })

  t.test('the list has no axe issue, no overflow and no injection', async t => {
    const { app, origin } = await start(t)
    app.hindsight.profiler.save({ ...sample(LOUD), method: 'GET' })
    for (const token of tokens(1, 3)) app.hindsight.profiler.save(profile(token, { parent: '3fa94c' }))
    await app.hindsight.profiler.pin('000001', true)
    const { page, heard } = await watchedPage(browser, origin)
    for (const width of [360, 1280, 1920]) {
      await page.setViewportSize({ width, height: 800 })
      await page.goto(`${origin}/_profiler/search?url=http`)
      t.equal(await overflow(page), 0, `${width} pixels`)
      t.same(await axeViolationsOfThemes(page), [], `${width}`)
    }
    t.same(heard, [])
    await page.close()
  })

  t.test('routes, groups of failures and the form of a replay have no axe issue and no overflow', async t => {
    const { app, origin } = await start(t)
    app.hindsight.profiler.save(sample(LOUD))
    const { page, heard } = await watchedPage(browser, origin)
    for (const width of [360, 1280, 1920]) {
      await page.setViewportSize({ width, height: 800 })
      for (const path of ['routes', 'search?group=failures', '3fa94c/replay', 'routes/try?method=POST&url=/orders/:id']) {
        await page.goto(`${origin}/_profiler/${path}`)
        t.equal(await overflow(page), 0, `${path}, ${width} pixels`)
        t.same(await axeViolationsOfThemes(page), [], `${path}, ${width}`)
      }
    }
    t.same(heard, [])
    await page.close()
  })

  t.test('new profiles are added at the top while the list is live', async t => {
    const { app, origin } = await start(t)
    const { page, heard } = await watchedPage(browser, origin)
    await page.goto(`${origin}/_profiler/`)
    t.match(await page.locator('.empty').textContent(), /No request has been profiled yet/)
    await page.locator('.live-state', { hasText: 'Live' }).waitFor()
    const first = page.locator('.profiles tbody tr').first()
    // The stream begins when the server has read the request for it.
    for (let i = 10; await page.locator('.profiles tbody tr').count() === 0; i++) {
      app.hindsight.profiler.save(profile(String(i).padStart(6, '0')))
      await page.waitForTimeout(200)
    }
    app.hindsight.profiler.save(failure('00000a', { url: `${origin}/${LOUD}`, method: LOUD, ip: LOUD }))
    await page.locator('th a', { hasText: '00000a' }).waitFor()
    t.equal(await first.getAttribute('class'), 'has-problem')
    t.equal(await first.locator('a').getAttribute('href'), '00000a')
    t.match(await first.locator('td p').textContent(), /^NotFoundError: No route found/)
    t.equal(await first.locator(':is(script, img, b)').count(), 0)
    t.equal(await page.locator('.empty').count(), 0)
    for (const token of tokens(100, 350)) app.hindsight.profiler.save(profile(token))
    await page.locator('th a', { hasText: '000350' }).waitFor()
    t.equal(await page.locator('.profiles tbody tr').count(), 50, 'the newest, as on a page that is loaded anew')
    await page.getByRole('button', { name: 'Pause' }).click()
    t.equal(await page.locator('.live-state').textContent(), 'Paused')
    t.equal(await page.getByRole('button', { name: 'Live' }).count(), 1)
    app.hindsight.profiler.save(profile('00000b'))
    await page.waitForTimeout(1_500)
    t.equal(await page.locator('th a', { hasText: '00000b' }).count(), 0)
    t.same(heard, [])
    await page.close()
  })

  t.test('a profile is pinned on its page, and marked in the list', async t => {
    const { app, origin } = await start(t)
    app.hindsight.profiler.save(profile('000001'))
    const { page } = await watchedPage(browser, origin)
    await page.goto(`${origin}/_profiler/000001`)
    await page.getByRole('button', { name: 'Pin' }).click()
    await page.getByRole('button', { name: 'Unpin' }).waitFor()
    await page.goto(`${origin}/_profiler/`)
    t.equal(await page.locator('.pin').count(), 1)
    await page.close()
  })

  t.test('j and k go to the older and the newer profile, with the same panel', async t => {
    const { app, origin } = await start(t)
    for (const token of ['000001', '000002', '000003']) app.hindsight.profiler.save(profile(token))
    const { page } = await watchedPage(browser, origin)
    await page.goto(`${origin}/_profiler/000002?panel=timeline`)
    await page.keyboard.press('j')
    await page.waitForURL(/000001\?panel=timeline$/)
    t.notOk(await page.getByRole('link', { name: 'Older' }).isVisible(), 'none is older')
    await page.keyboard.press('k')
    await page.waitForURL(/000002\?panel=timeline$/)
    await page.getByRole('link', { name: 'Newer' }).click()
    await page.waitForURL(/000003\?panel=timeline$/)
    t.equal((await page.locator('.summary').boundingBox())?.height, 56)
    await page.close()
  })

  t.test('a plan opens below its statement; without JavaScript it is a page', async t => {
    const { app, origin } = await start(t)
    const run = { system: 'sqlite', statement: 'select 1', shape: 'select ?', start: 1, duration: 2, rows: 1, source: null }
    const group = { ...run, count: 2, distinct: 1, duration: 4, sources: [], kind: null }
    const collected = { count: 2, failed: 0, duration: 4, queries: [run, run], groups: [group], findings: [] }
    app.hindsight.profiler.save(profile('000001', { collectors: { queries: collected } }))
    for (const javaScriptEnabled of [true, false]) {
      const { page, heard } = await watchedPage(browser, origin, { javaScriptEnabled })
      await page.goto(`${origin}/_profiler/000001?panel=queries`)
      await page.getByRole('button', { name: 'Explain plan' }).click()
      await page.getByText('There is no plan: no client of this process').waitFor()
      t.equal(page.url().endsWith('?panel=queries'), javaScriptEnabled)
      t.equal(await page.locator('td:has(.part) h2').allTextContents().then((titles) => titles.join()), javaScriptEnabled ? 'Plan' : '')
      t.same(heard, [])
      await page.close()
    }
  })

  t.test('text is copied to the clipboard, and an unknown token has a page', async t => {
    const app = await build(t, {}, (app) => app.get('/', (_request, reply) => reply.type('text/html').send('<html><body></body></html>')))
    const origin = `http://127.0.0.1:${await listen(app)}`
    app.hindsight.profiler.save(sample())
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    t.teardown(() => context.close())
    const page = await context.newPage()
    await page.goto(`${origin}/_profiler/3fa94c`)
    const copied = async (): Promise<string> => await page.evaluate('navigator.clipboard.readText()')
    await page.locator('.popup summary', { hasText: 'Copy' }).click()
    await page.getByRole('button', { name: 'For an AI assistant' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    t.match(await copied(), /^# /)
    await page.getByRole('button', { name: 'For an AI assistant' }).waitFor()
    await page.getByRole('button', { name: 'As curl' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    t.match(await copied(), /^curl /m)
    await page.goto(`${origin}/`)
    await page.locator('hindsight-toolbar .profile').hover()
    await page.locator('hindsight-toolbar').getByText('Markdown for an AI assistant').click()
    await page.waitForURL(/\/_profiler\/[0-9a-f]{6}\.md$/)
    await page.goto(`${origin}/_profiler/ffffff`)
    t.match(await page.locator('body').textContent(), 'Token "ffffff" was not found.')
    t.same(await axeViolationsOfThemes(page), [])
  })

  t.test('filters apply on change', async t => {
    const { app, origin } = await start(t)
    app.hindsight.profiler.save({ ...sample(), logs: [line('debug', 'one'), line('info', 'two', 'db'), line('warn', 'three'), line('error', 'four')] })
    const { page, heard } = await watchedPage(browser, origin)
    await page.goto(`${origin}/_profiler/3fa94c?panel=logs`)
    const shown = async (): Promise<string[]> => await page.locator('.logs tbody tr:visible td.text > span').allTextContents()
    t.same(await shown(), ['two', 'three', 'four'])
    await page.getByLabel('Level').selectOption('trace')
    await page.waitForURL(/level=trace/)
    t.equal(await page.locator('.log-count').textContent(), '4 of 4 lines')
    await page.getByLabel('Listeners (3)').check()
    await page.waitForURL(/events=1/)
    t.equal(await page.locator('.log-count').textContent(), '7 of 7 lines')
    await page.getByLabel('Filter messages').fill('ONE')
    t.same(await shown(), ['one'], 'while it is typed')
    t.equal(await page.locator('.log-count').textContent(), '1 of 7 lines')
    await page.keyboard.press('Enter')
    await page.waitForURL(/q=ONE/)
    t.same(await shown(), ['one'])
    await page.goto(`${origin}/_profiler/3fa94c?panel=timeline`)
    const names = () => page.locator('.row .name > span:visible').allTextContents()
    const all = await names()
    t.ok(all.includes('GET plain') && all.includes('one'), all.join())
    await page.getByRole('link', { name: 'log line 4' }).click()
    t.same(await names(), ['one', 'two', 'three', 'four'])
    await page.getByRole('link', { name: 'All', exact: true }).click()
    t.same(await names(), all)
    await page.locator('.waterfall summary').first().press('Enter')
    t.ok(await page.locator('.more').first().isVisible())
    await page.goto(`${origin}/_profiler/3fa94c?panel=events`)
    t.same(await page.locator('.event:visible th').allTextContents(), ['router raised', 'error', 'clickjacking'])
    t.same(heard, [])
    await page.close()
  })

  t.test('the pages work without JavaScript', async t => {
    const { app, origin } = await start(t)
    app.hindsight.profiler.save({ ...sample(), logs: [line('debug', 'one'), line('info', 'two', 'db'), line('error', 'four')] })
    const { page, heard } = await watchedPage(browser, origin, { javaScriptEnabled: false, viewport: { width: 360, height: 800 } })
    await page.goto(`${origin}/_profiler/`)
    t.equal(await page.locator('.live').isVisible(), false, 'no button without a function is shown')
    await page.locator('tbody th a').click()
    t.notOk(await page.getByRole('link', { name: 'Environment' }).isVisible())
    await page.getByLabel('All panels').check()
    await page.locator('.menu').getByRole('link', { name: /^Logs/ }).click()
    t.equal(await page.locator('.logs tbody tr:visible').count(), 2)
    await page.getByLabel('Level').selectOption('trace')
    await page.getByRole('button', { name: 'Filter' }).click()
    t.same(await page.locator('.logs tbody tr:visible .level').allTextContents(), ['debug', 'info', 'error'])
    await page.goto(`${origin}/_profiler/3fa94c?panel=timeline`)
    await page.getByRole('link', { name: 'log line 3' }).click()
    await page.locator('.row', { hasText: 'four' }).waitFor()
    t.same(await page.locator('.row .name > span').allTextContents(), ['one', 'two', 'four'])
    t.same(heard, [])
    await page.close()
  })

  inBothProducts('lists in the panel of an application have their numbers', async (t, build) => {
    const render = () => html`<ol><li>select 1</li></ol>`
    const app = await build((app) => app.get('/', async () => 'done'), {
      profiler: { collectors: [{ name: 'own', collect: () => 1, panel: { render } }] }
    }, CLOSING)
    const origin = `http://127.0.0.1:${await listen(app)}`
    await fetch(origin)
    const { page } = await watchedPage(browser, origin)
    await page.goto(`${origin}/_profiler/latest?panel=own`)
    t.match(await page.locator('.panel ol').evaluate((list) => {
      const { listStyleType, paddingLeft } = getComputedStyle(list)
      return { listStyleType, paddingLeft: Number.parseFloat(paddingLeft) >= 20 }
    }), { listStyleType: 'decimal', paddingLeft: true })
    t.equal(await page.locator('.menu ul').first().evaluate((list) => getComputedStyle(list).listStyleType), 'none')
    await page.close()
  })
}
