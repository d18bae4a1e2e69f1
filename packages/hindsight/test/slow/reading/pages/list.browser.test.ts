import type { FastifyInstance } from 'fastify'
import type { BrowserContextOptions, Locator, Page, Request } from 'playwright-core'
import t, { type Test } from 'tap'
import type { Profile } from '../../../../src/store/profile.js'
import { build, listen } from '../../../support/app.js'
import { chromium, CLOSING } from '../../support/browser.js'
import { inBothProducts } from '../../../support/products.js'
import { axeViolationsOfThemes, OBSERVE_SHIFTS, overflow, watchedPage } from '../../support/page.js'
import { failure, profile, tokens } from '../../../parts/fixture.js'

const browser = await chromium(t)

async function start (
  t: Test, options: BrowserContextOptions = {}
): Promise<{ app: FastifyInstance, origin: string, page: Page, heard: string[], save: (...profiles: Profile[]) => void }> {
  const app = await build()
  t.teardown(() => app.close())
  const origin = `http://127.0.0.1:${await listen(app)}`
  if (browser === undefined) throw new Error('no browser')
  const { page, heard } = await watchedPage(browser, origin, options)
  t.teardown(() => page.close())
  await page.addInitScript(OBSERVE_SHIFTS)
  return { app, origin, page, heard, save: (...profiles) => { for (const one of profiles) app.hindsight.profiler.save(one) } }
}

type Box = NonNullable<Awaited<ReturnType<Locator['boundingBox']>>>

/** The box of an element, which has none at the moment at which the live list is replaced. */
async function boxOf (element: Locator): Promise<Box> {
  for (;;) {
    const box = await element.boundingBox()
    if (box !== null) return box
  }
}

const focused = async (page: Page): Promise<string> => await page.evaluate('document.activeElement.textContent')

if (browser !== undefined) {
  t.test('a click anywhere in a row opens its profile, except on its controls', async (t) => {
    const { origin, page, heard, save } = await start(t, { viewport: { width: 1280, height: 720 } })
    save(profile('000001'), profile('000002'))
    for (const column of [2, 3, 5]) {
      await page.goto(`${origin}/_profiler/`)
      // On a busy machine the requests of a page that is left have rows, too.
      const cell = page.locator('.profiles tbody tr', { has: page.locator('th a', { hasText: /^000002$/ }) }).locator(`td:nth-child(${column})`)
      const { width } = await boxOf(cell)
      // The link of the row covers its cells.
      await cell.click({ position: { x: width - 5, y: 5 }, force: true })
      await page.waitForURL(/\/000002$/)
    }
    await page.goto(`${origin}/_profiler/`)
    const compare = page.locator('#compare button')
    t.same([await compare.textContent(), await compare.isDisabled()], ['Compare selected (0)', true])
    await page.getByLabel('Compare 000001').check()
    t.same([await compare.textContent(), await compare.isDisabled()], ['Compare selected (1)', true])
    await page.getByLabel('Compare 000002').check()
    t.same([await compare.textContent(), await compare.isDisabled()], ['Compare selected (2)', false])
    await compare.click()
    await page.waitForURL(/\/compare\/00000[12]$/)
    await page.goto(`${origin}/_profiler/search?status=200`)
    await page.locator('[name=q]').fill('robots status:2xx')
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.searchParams.get('q') === 'robots status:2xx')
    t.equal(await page.locator('[role=alert]').textContent(), 'Invalid "status": it may be given only once.')
    t.same(heard, [])
  })

  t.test('beside a long URL the error of a row is readable at 1280 pixels', async (t) => {
    const { origin, page, save } = await start(t, { viewport: { width: 1280, height: 720 } })
    const url = `http://127.0.0.1/orders?${'campaign=winter&'.repeat(20)}`
    save(...tokens(1, 3).map((token) => ({ ...failure(token), url })))
    await page.goto(`${origin}/_profiler/`)
    // In one step: the live list may be replaced.
    const isInside = await page.evaluate(`(() => {
      const text = document.querySelector('.profiles .message p')
      const [{ left }, { right, width }] = [text.getBoundingClientRect(), text.closest('td').getBoundingClientRect()]
      return right - left > width / 4
    })()`)
    t.equal(isInside, true)
    t.equal(await overflow(page), 0)
    save(...tokens(4, 6).map((token) => ({ ...failure(token), url: 'http://127.0.0.1/a' })))
    await page.setViewportSize({ width: 360, height: 720 })
    await page.goto(`${origin}/_profiler/search?q=${encodeURIComponent('"127.0.0.1/a"')}`)
    const [target, mark] = await Promise.all(['td.text', '.equal'].map(async (one) => await page.locator(one).first().boundingBox()))
    t.ok(target && mark && mark.y >= target.y + target.height, 'the number of equal failures is below the URL, with the message')
  })

  t.test('equal failures expand without JavaScript, and the live list stays while it is used', async (t) => {
    const { origin, page, heard, save } = await start(t, { javaScriptEnabled: false })
    save(...tokens(1, 12).map((token) => failure(token)), profile('000099'))
    await page.goto(`${origin}/_profiler/`)
    const rows = page.locator('.profiles tbody tr:visible')
    t.equal(await rows.count(), 2)
    await page.locator('.equal').click()
    t.equal(await rows.count(), 13)
    await page.getByRole('button', { name: 'Compare selected' }).click()
    t.match(await page.locator('body').textContent(), 'Select two profiles to compare them, 0 were selected')
    const live = await page.context().browser()?.newPage() as Page
    await live.goto(`${origin}/_profiler/`)
    await live.locator('.equal').click()
    for (let i = 20; await live.locator('.live-state').textContent() !== 'New profiles'; i++) {
      save(failure(`0000${i}`))
      await live.waitForTimeout(300)
    }
    await live.waitForTimeout(1_500)
    t.equal(await live.locator('tbody tr:visible').count(), 14, 'the group stays expanded, beside the refused comparison')
    await live.locator('.equal').click()
    await live.locator('.stats').click()
    await live.locator('.profiles tbody tr').nth(13).waitFor({ state: 'attached' })
    // What is expanded while the new rows are loaded stays, too.
    const loaded = new Promise<Request>((resolve) => {
      void live.route('**/_profiler/', async (route) => {
        await live.locator('.equal').click()
        await route.continue()
        resolve(route.request())
      }, { times: 1 })
    })
    save(failure('000098'))
    await (await (await loaded).response())?.finished()
    await live.waitForTimeout(500)
    t.ok(await live.locator('.equal input').isChecked(), 'the group stays expanded')
    await live.close()
    t.same(heard, [])
  })

  inBothProducts('requests that arrive during a pause appear with Live, and not before', async (t, build) => {
    const app = await build((app) => app.get('/*', async () => 'fine'), {}, CLOSING)
    const origin = `http://127.0.0.1:${await listen(app)}`
    const { page, heard } = await watchedPage(browser, origin)
    t.teardown(() => page.close())
    const urls = async () => await page.locator('.profiles tbody td.text').allTextContents()
    const state = async (text: string) => { await page.locator('.live-state', { hasText: text }).waitFor() }
    await app.inject('/before')
    await page.goto(`${origin}/_profiler/`)
    await state('Live')
    await page.getByRole('button', { name: 'Pause' }).click()
    await app.inject('/during')
    await page.getByRole('button', { name: 'Live' }).click()
    await page.locator('.profiles tbody tr').nth(1).waitFor()
    t.same(await urls(), ['/during', '/before'])
    await page.locator('.profiles tbody th a').first().focus()
    await app.inject('/later')
    await state('New profiles')
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.waitForTimeout(2_500)
    t.same(await urls(), ['/during', '/before'], 'a paused list does not change')
    await page.getByRole('button', { name: 'Live' }).click()
    await page.locator('.profiles tbody tr').nth(2).waitFor()
    t.same(await urls(), ['/later', '/during', '/before'])
    t.same(heard, [])
  })

  t.test('the list can be used with the keyboard', async (t) => {
    const { origin, page, heard, save } = await start(t)
    save(profile('000001'), failure('000002'), profile('000003', { duration: 300 }))
    await page.goto(`${origin}/_profiler/`)
    const steps = [['j', '000003'], ['j', '000002'], ['j', '000001'], ['j', '000001'], ['k', '000002']] as const
    for (const [key, token] of steps) {
      await page.keyboard.press(key)
      t.equal(await focused(page), token)
    }
    t.equal(await page.evaluate('getComputedStyle(document.activeElement, "::after").outlineStyle'), 'solid', 'the focus is visible')
    await page.keyboard.press('o')
    await page.waitForURL(/\/000002$/)
    await page.goto(`${origin}/_profiler/`)
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/000003$/)
    await page.keyboard.press('/')
    await page.waitForURL(/\/_profiler\/#search$/)
    t.equal(await page.evaluate('document.activeElement.name'), 'q', 'a page without a search leads to that of the list')
    await page.goBack()
    await page.keyboard.press('g')
    await page.keyboard.press('e')
    await page.waitForURL(/\/000002$/)
    await page.goto(`${origin}/_profiler/`)
    for (const modifier of ['Control', 'Alt', 'Meta']) await page.keyboard.press(`${modifier}+j`)
    t.not(await focused(page), '000003')
    await page.keyboard.press('/')
    await page.keyboard.type('slow:>200ms jo?g e')
    t.equal(await page.locator('[name=q]').inputValue(), 'slow:>200ms jo?g e')
    await page.locator('[name=q]').fill('slow:>200ms')
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.searchParams.get('q') === 'slow:>200ms')
    t.same(await page.locator('.profiles tbody th a').allTextContents(), ['000003'])
    t.same(heard, [])
  })

  t.test('the help is a dialog, and shortcuts can be disabled', async (t) => {
    const { origin, page, heard, save } = await start(t)
    save(profile('000001'))
    await page.goto(`${origin}/_profiler/`)
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await page.keyboard.press('?')
    t.ok(await dialog.isVisible())
    t.same(await axeViolationsOfThemes(page), [])
    await page.keyboard.press('j')
    t.ok(await dialog.isVisible())
    await page.keyboard.press('Escape')
    t.notOk(await dialog.isVisible())
    await page.keyboard.press('?')
    await page.getByLabel('Enable keyboard shortcuts').uncheck()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.goto(`${origin}/_profiler/000001`)
    await page.keyboard.press('?')
    t.notOk(await dialog.isVisible(), 'remembered')
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
    await page.getByLabel('Enable keyboard shortcuts').check()
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    t.ok(await dialog.isVisible())
    t.same(heard, [])
  })

  t.test('arriving rows cause no layout shift, and the first result is on the first screen', async (t) => {
    for (const [width, height] of [[360, 640], [960, 700], [1280, 720], [1920, 900]] as const) {
      const { origin, page, heard, save } = await start(t, { viewport: { width, height } })
      save(
        failure('00000a'), profile('00000b'),
        profile('00000c', { url: `http://h/${'long'.repeat(80)}`, ip: '2001:db8:1111:2222:3333:4444:5555:6666', duration: 123_456 })
      )
      await page.goto(`${origin}/_profiler/`)
      const { y, height: rowHeight } = await boxOf(page.locator('.profiles tbody tr').first())
      t.ok(y + rowHeight <= height, `${width}: the first result ends at ${y + rowHeight}`)
      await page.locator('.live-state', { hasText: 'Live' }).waitFor()
      for (let i = 100; await page.locator('.profiles tbody tr').count() < 7; i++) {
        save(i % 2 === 0 ? profile(`000${i}`, { duration: 1_000_000, method: 'PROPFIND' }) : failure(`000${i}`, { status: 500 }))
        await page.waitForTimeout(300)
      }
      await page.waitForTimeout(1_200)
      t.same(await page.evaluate('window.shifts'), [], `${width}: no layout shift`)
      t.equal(await overflow(page), 0)
      t.same(await axeViolationsOfThemes(page), [], `${width}`)
      t.same(heard, [])
      const search = page.locator('.search .query')
      const complete = await search.boundingBox()
      await page.evaluate("document.querySelectorAll('.search ~ *').forEach((control) => control.remove())")
      t.same(await search.boundingBox(), complete, `${width}: the search has its place before the controls beside it arrive`)
    }
  })
}
