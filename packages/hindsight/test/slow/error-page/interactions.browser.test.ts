import { EventEmitter, once } from 'node:events'
import type { Page } from 'playwright-core'
import t from 'tap'
import { chromium } from '../support/browser.js'
import { everyday } from '../../error-page/reports.js'
import { OBSERVE_SHIFTS, watchedPage } from '../support/page.js'
import { open, serve } from './serve.js'

/** The text that the page copied. The browser's own `waitForFunction` needs `eval`, which the policy of the page refuses. */
async function copied (page: Page): Promise<string> {
  for (;;) {
    const text = String(await page.evaluate("window.copied ?? ''"))
    if (text !== '') return text
    await page.waitForTimeout(20)
  }
}

t.test('the page works in a browser', async (t) => {
  const browser = await chromium(t)
  if (browser === undefined) return
  const frame = { file: '/srv/a.ts', line: 1, column: 1, function: 'a', own: true }
  const collectors = { exceptions: { handler: frame } }
  const failed = (token: string) => ({ ...everyday(), collectors, token, profileUrl: `/_profiler/${token}` })
  const origin = await serve(t, {
    '/': everyday(), '/failed': failed('abc123'), '/first': failed('first'), '/succeeded': { ...failed('abc123'), hasSuccess: true }
  })
  const url = `${origin}/`
  const background = 'getComputedStyle(document.body).backgroundColor'

  await t.test('texts are copied', async (t) => {
    const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
    const page = await context.newPage()
    await page.goto(url)
    const copied = async (name: string) => {
      const button = page.getByRole('button', { name, exact: true }).last()
      await page.evaluate("document.querySelector('[role=status]').textContent = ''")
      await button.click()
      await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor()
      return String(await page.evaluate('navigator.clipboard.readText()'))
    }
    t.equal(await copied('Copy for an AI assistant'), await page.locator('#as-markdown').textContent())
    t.equal(await copied('Copy'), await page.locator('.trace pre').last().textContent())
    await context.close()
  })

  await t.test('a button says that a text cannot be copied over plain http', async (t) => {
    const { page, heard } = await open(browser, url)
    // As on plain http beyond the loopback interface, where this interface does not exist.
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await page.getByRole('button', { name: 'Copy for an AI assistant' }).click()
    // The button has it for two seconds.
    await page.getByRole('status').filter({ hasText: 'Could not copy' }).waitFor()
    t.same(heard, [])
    await page.close()
  })

  await t.test('the differences from the last success replace their link, and the Markdown of the profile is copied', async (t) => {
    const { page, heard } = await open(browser, `${origin}/failed`)
    await page.locator('[data-fragment] table').waitFor()
    t.equal(await page.locator('[data-fragment] > a').count(), 0)
    t.ok(await page.evaluate("(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('[data-fragment]'))"), 'a long name')
    t.equal(await page.evaluate('window.hacked'), undefined, 'a script in it does not run')
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: { async writeText (text) { window.copied = text } } })")
    await page.getByRole('button', { name: 'Copy for an AI assistant' }).click()
    t.equal(await copied(page), '# The profile\n')
    t.same(heard, ['/differences', '/differences', '.md'].map((end) => `request ${origin}/_profiler/abc123${end}`), 'an early request is repeated')
    await page.route('**/*.md', (route) => route.abort())
    await page.evaluate("window.copied = ''")
    await page.getByRole('button', { name: 'Copied', exact: true }).or(page.getByRole('button', { name: 'Copy for an AI assistant' })).click()
    t.equal(await copied(page), await page.locator('#as-markdown').textContent(), 'a page that was saved has its own')
    await page.close()
    const first = await open(browser, `${origin}/first`)
    await first.page.locator('[data-fragment]').waitFor({ state: 'detached' })
    await first.page.close()
    const plain = await open(browser, `${origin}/failed`, { javaScriptEnabled: false })
    t.match(await plain.page.locator('[data-fragment] a').getAttribute('href'), '/_profiler/abc123/differences')
    await plain.page.close()
  })

  await t.test('the log has its lines in order, and the first error is linked', async (t) => {
    const { page } = await open(browser, url)
    const lines = async () => await page.locator('#logs tbody tr:visible td:last-child > span').allTextContents()
    t.same(await lines(), ['a detail', 'an information', 'a warning', 'an error'])
    await page.locator('#logs h2 a').click()
    t.match(page.url(), /#first-error$/)
    t.equal(await page.locator('tr:target td:last-child').textContent(), 'an error')
    await page.locator('#logs details summary').click()
    t.equal(await page.locator('#logs details pre').textContent(), '{\n  "deep": {\n    "a": [\n      1\n    ]\n  }\n}')
    await page.close()
  })

  await t.test('the theme follows the system', async (t) => {
    const context = await browser.newContext({ colorScheme: 'dark' })
    const page = await context.newPage()
    await page.goto(url)
    t.equal(await page.evaluate(background), 'rgb(18, 21, 27)')
    await page.emulateMedia({ colorScheme: 'light' })
    t.equal(await page.evaluate(background), 'rgb(246, 247, 249)')
    await context.close()
  })

  await t.test('the script causes no visible layout shift', async (t) => {
    const { page } = await watchedPage(browser, origin)
    await page.addInitScript(OBSERVE_SHIFTS)
    await page.goto(url)
    t.same(await page.evaluate('new Promise((resolve) => setTimeout(() => resolve(shifts), 100))'), [])
    await page.close()
  })

  await t.test('the differences from the last success come without a layout shift', async (t) => {
    const { page } = await watchedPage(browser, origin, { viewport: { width: 1280, height: 720 } })
    await page.addInitScript(OBSERVE_SHIFTS)
    const steps = new EventEmitter()
    const painted = once(steps, 'painted')
    await page.route('**/differences', async (route) => {
      await painted
      await route.continue()
    })
    await page.goto(`${origin}/succeeded`)
    // The whole page is there before the differences come.
    await page.evaluate(`new Promise((resolve) => {
      const begin = () => resolve(shiftsFrom = performance.now())
      requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(begin)))
    })`)
    steps.emit('painted')
    await page.locator('[data-fragment] table').waitFor()
    t.same(await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0, shifts)))'), [])
    const { y = Infinity, height = 0 } = await page.locator('[data-fragment]').boundingBox() ?? {}
    t.ok(y + height < 720, `on the first screen, to ${y + height}`)
    await page.close()
  })

  await t.test('the page can be used with the keyboard alone', async (t) => {
    const { page } = await open(browser, url)
    const focused = async () => String(await page.evaluate("document.activeElement.textContent.trim().replace(/\\s+/g, ' ')"))
    await page.keyboard.press('Tab')
    t.equal(await focused(), 'Skip to the content')
    for (const next of [/^GET \//, /^3fa94c$/, /^Copy for an AI assistant$/]) {
      await page.keyboard.press('Tab')
      t.match(await focused(), next)
    }
    t.notSame(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none', 'the focus is visible')
    for (let presses = 0; presses < 60 && !(await focused()).startsWith('[1/'); presses++) await page.keyboard.press('Tab')
    t.match(await focused(), /^\[1\/\d\] /)
    const trace = page.locator('.trace').first()
    t.equal(await trace.locator('pre').isVisible(), false)
    await page.keyboard.press('Enter')
    t.ok(await trace.locator('pre').isVisible())
    await page.close()
  })

  await t.test('reduced motion is respected', async (t) => {
    const { page } = await open(browser, url, { reducedMotion: 'reduce' })
    t.equal(await page.evaluate('getComputedStyle(document.documentElement).scrollBehavior'), 'auto')
    await page.close()
  })

  await t.test('the page works without JavaScript', async (t) => {
    const { page } = await open(browser, url, { javaScriptEnabled: false, viewport: { width: 360, height: 800 } })
    t.equal(await page.locator('#logs tbody tr:visible').count(), 4)
    await page.getByRole('link', { name: 'Stack Traces' }).click()
    t.match(page.url(), /#stack-traces$/)
    await page.locator('.trace summary').first().click()
    t.equal(await page.locator('.trace pre:visible').count(), 2)
    t.equal(await page.locator('.where .excerpt mark:visible').count(), 1)
    await page.getByRole('link', { name: 'Copy for an AI assistant' }).click()
    t.ok(await page.locator('#as-markdown').isVisible(), 'the link expands its target')
    t.equal(await page.locator('button:visible').count(), 0, 'no control without a function is shown')
    await page.close()
  })
})
