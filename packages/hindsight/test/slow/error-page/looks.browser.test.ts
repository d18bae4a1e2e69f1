import t from 'tap'
import type { FlattenedException } from '../../../src/errors/exception.js'
import { flattenError } from '../../../src/errors/masked-exceptions.js'
import { chromium } from '../support/browser.js'
import { record } from '../../errors/sample.js'
import { everyday, hostile } from '../../error-page/reports.js'
import { open, serve, violations } from './serve.js'

const overflow = 'Math.max(0, document.documentElement.scrollWidth - innerWidth)'

t.test('the pages are accessible and fit in a browser', async (t) => {
  const browser = await chromium(t)
  if (browser === undefined) return
  const origin = await serve(t, { '/long': long(), '/everyday': everyday(), '/hostile': hostile(), '/large': large(), '/': {} })

  for (const [path, colorScheme, width] of [
    ['/everyday', 'light', 360], ['/everyday', 'light', 1280], ['/everyday', 'dark', 360], ['/everyday', 'dark', 1280],
    ['/', 'light', 1920], ['/hostile', 'dark', 360], ['/hostile', 'light', 1280]
  ] as const) {
    await t.test(`${path}, ${colorScheme}, ${width} pixels wide`, async (t) => {
      const { page, heard } = await open(browser, origin + path, { colorScheme, viewport: { width, height: 800 } })
      t.equal(await page.evaluate(overflow), 0, 'nothing is wider than the window')
      t.same(await violations(page), [], 'axe reports no issue')
      t.equal(await page.evaluate(overflow), 0, 'nothing is wider than the window with all parts expanded')
      t.same(heard, [], 'no dialog, request, refusal or error occurs')
      await page.close()
    })
  }

  await t.test('hostile text adds no element, attribute or URL', async (t) => {
    const { page, heard } = await open(browser, `${origin}/hostile`)
    t.same(await page.evaluate(
      "[...document.querySelectorAll('img, iframe, object, base, meta[http-equiv], [style], body script:not(:last-of-type)')].map((one) => one.outerHTML)"
    ), [])
    t.same(await page.evaluate("[...document.querySelectorAll('a')].map((one) => one.protocol).filter((one) => !['http:', 'vscode:'].includes(one))"), [])
    t.match(await page.locator('h1').textContent(), /^"'><script nonce="sc">alert\(1\).*⟨U\+202E⟩$/)
    for (const name of ['Copy for an AI assistant', 'Copy']) await page.getByRole('button', { name, exact: true }).first().click()
    t.same(heard, [`request ${origin}/_profiler/abc123.md`], 'the Markdown of its profile alone')
    await page.close()
  })

  await t.test('a message of many lines leaves the source on the first screen', async (t) => {
    const { page } = await open(browser, `${origin}/long`, { viewport: { width: 1280, height: 720 } })
    const { y = Infinity } = await page.locator('.excerpt .arrow').first().boundingBox() ?? {}
    t.ok(y < 700, `the line is at ${y}`)
    t.same(await violations(page), [])
    await page.close()
  })

  await t.test('wide windows have two columns below a low header', async (t) => {
    const hints = [{ title: 'A query failed', text: 'column "price" does not exist' }]
    const columns = await serve(t, { '/': { ...everyday(), hints }, '/long': { ...long(), hints } })
    for (const path of ['/', '/long']) {
      for (const width of [1199, 1200, 1440, 1920]) {
        const { page } = await open(browser, columns + path, { viewport: { width, height: 720 } })
        const [header, code, side, rest] = await Promise.all(['.band', '.where', '.side .hint', '#exceptions']
          .map((selector) => page.locator(selector).first().boundingBox()))
        if (width >= 1200) t.ok((header?.height ?? Infinity) <= 120, `${header?.height} at ${width}`)
        const isBeside = (side?.x ?? 0) > (code?.x ?? 0) + (code?.width ?? 0) && (side?.y ?? Infinity) < (rest?.y ?? 0)
        t.equal(isBeside, width >= 1200, `${path} at ${width}`)
        t.equal(await page.evaluate(overflow), 0)
        await page.close()
      }
    }
  })

  await t.test('a large report remains usable', async (t) => {
    const { page } = await open(browser, `${origin}/large`, { viewport: { width: 360, height: 800 } })
    t.equal(await page.evaluate(overflow), 0)
    t.equal(await page.locator('#logs tbody tr').count(), 1_000)
    t.ok((await page.content()).length < 1_500_000, 'the page is bounded')
    await page.close()
  })
})

function long (): ReturnType<typeof everyday> {
  const message = JSON.stringify(Array.from({ length: 5 }, (_, i) => ({ code: 'invalid_type', expected: 'number', path: ['lines', i] })), null, 2)
  return { exceptions: flattenError(new Error(message)) }
}

function large (): ReturnType<typeof everyday> {
  const frames = Array.from({ length: 200 }, (_, i) => ({ file: `/srv/node_modules/dep/${i}.js`, line: i + 1, column: 1, function: 'fn', own: i % 3 === 0 }))
  const exception: FlattenedException = {
    name: 'Error', message: 'word '.repeat(4_000), frames, stack: `Error: x\n${'    at fn (/srv/a.js:1:1)\n'.repeat(200)}`
  }
  return {
    exceptions: [exception],
    logs: Array.from({ length: 1_000 }, (_, i) =>
      record(i % 100 === 0 ? 'error' : 'debug', `line ${i} ${'x'.repeat(i % 50 === 0 ? 5_000 : 20)}`, { i, body: 'y'.repeat(i % 10 === 0 ? 20_000 : 10) }))
  }
}
