import t from 'tap'
import { build, listen } from '../../../support/app.js'
import { chromium } from '../../support/browser.js'
import { axeViolationsOfThemes, overflow, watchedPage } from '../../support/page.js'
import { profile } from '../../../parts/fixture.js'
import { requested } from '../../../reading/formats/stored.js'
import { HOSTILE } from '../../../parts/hostile.js'
import { sample } from '../../../parts/sample.js'

const LOUD = `${HOSTILE}<img src="https://evil.example/x">${'long'.repeat(100)}`

const browser = await chromium(t)
if (browser !== undefined) {
  t.test('comparing and resending without a script: no axe issue, no overflow, no injection', async (t) => {
    const orders: unknown[] = []
    const app = await build({ declare: (app) => app.post('/orders', async ({ body }) => { orders.push(body); return { ok: true } }) })
    t.teardown(() => app.close())
    const origin = `http://127.0.0.1:${await listen(app)}`
    app.hindsight.profiler.save({ ...sample(LOUD), method: 'GET', time: '2026-01-03T00:00:00.000Z' })
    app.hindsight.profiler.save(profile('000001'))
    app.hindsight.profiler.save({
      ...requested(
        { target: '/orders', headers: { 'content-type': 'application/json', cookie: `${'long'.repeat(50)}=******` }, body: { note: LOUD, password: '******' } },
        { method: 'POST', url: `${origin}/orders` }
      ),
      token: '000002'
    })
    const { page, heard } = await watchedPage(browser, origin)
    for (const path of ['3fa94c/compare/000001', '000002/replay']) {
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 })
        await page.goto(`${origin}/_profiler/${path}`)
        t.same(await axeViolationsOfThemes(page), [], `${path}, ${width} pixels`)
        t.equal(await overflow(page), 0, `${path}, ${width} pixels`)
        t.equal(await page.locator('main :is(script, img, b)').count(), 0, path)
      }
    }
    t.same(heard, [])
    await page.close()
    const plain = (await watchedPage(browser, origin, { javaScriptEnabled: false })).page
    await plain.goto(`${origin}/_profiler/`)
    for (const token of ['3fa94c', '000001']) await plain.getByLabel(`Compare ${token}`).check()
    await plain.getByRole('button', { name: 'Compare' }).click()
    t.equal(plain.url(), `${origin}/_profiler/000001/compare/3fa94c`)
    await plain.goto(`${origin}/_profiler/000002`)
    await plain.getByRole('link', { name: 'Replay…' }).click()
    await plain.getByRole('button', { name: 'Replay' }).click()
    t.equal(plain.url(), `${origin}/_profiler/000002/replay`, 'nothing is sent without the confirmation')
    await plain.getByLabel('body.password').fill('secret')
    await plain.getByLabel('Replay this POST').check()
    await plain.getByRole('button', { name: 'Replay' }).click()
    await plain.waitForURL(/\/000002\/compare\/[0-9a-f]{6}$/)
    t.same(orders, [{ note: LOUD, password: 'secret' }])
    await plain.goto(`${origin}/_profiler/000002`)
    await plain.locator('.popup summary', { hasText: 'Copy' }).click()
    const downloading = plain.waitForEvent('download')
    await plain.getByRole('link', { name: 'curl', exact: true }).click()
    t.equal((await downloading).suggestedFilename(), 'hindsight-000002.sh')
    await plain.close()
  })
}
