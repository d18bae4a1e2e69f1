import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { sample } from '../../../parts/sample.js'
import { failure, profile, tokens } from '../../../parts/fixture.js'
import { build } from '../../../support/app.js'
import { isLong } from '../../../support/long.js'
import { chromium } from '../../support/browser.js'
import { OBSERVE_SHIFTS } from '../../support/page.js'

const PATHS = [
  '', 'search?group=failures', 'routes', '000001/compare/3fa94c', 'latest?method=POST', 'latest?method=POST&panel=request',
  ...['overview', 'request', 'exceptions', 'logs', 'timeline', 'http-client', 'queries', 'events'].map((name) => `3fa94c?panel=${name}`)
].map((path) => `/_profiler/${path}`)
const SHARES = isLong ? [0.2, 0.35, 0.5, 0.65, 0.8] : [0.35, 0.65]
/** Milliseconds until the rest of a page is sent: enough for the browser to paint what it has. */
const PAUSE = 150
const MAX_SHIFT = 0.005

const browser = await chromium(t)
if (browser !== undefined) {
  t.test('nothing moves when a page arrives in two parts', async (t) => {
    const app = await build(t, {}, (app) => app.all('/orders', async () => { throw new Error('the order is locked') }))
    const frames = Array.from({ length: 8 }, (_, i) => ({ file: `/app/routes/orders${i}.ts`, line: i, column: 1, function: `load${i}`, own: i < 4 }))
    const made = sample('plain text')
    made.exceptions = made.exceptions.map((one) => ({ ...one, frames }))
    for (const one of [...tokens(2, 30).map((token) => failure(token)), profile('000001'), made]) app.hindsight.profiler.save(one)
    const clients = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`sec-x-${i}`, 'x'.repeat(20)]))
    const sent = await app.inject({ method: 'POST', url: '/orders', payload: { item: 'lamp', note: 'n'.repeat(200) }, headers: clients })
    let share = 0
    const follow = async (url: string): Promise<Awaited<ReturnType<typeof app.inject>>> => {
      const response = await app.inject({ url, headers: { accept: 'text/html' } })
      return response.statusCode === 302 ? await follow(String(response.headers.location)) : response
    }
    const answer = async ({ url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> => {
      if (url.startsWith('/_profiler/stream')) {
        response.writeHead(204).end()
        return
      }
      const { rawPayload, headers, statusCode } = await follow(url)
      response.writeHead(statusCode, { 'content-type': headers['content-type'] })
      const isPage = /html/.test(String(headers['content-type'])) && !url.endsWith('/differences')
      const length = isPage ? Math.floor(rawPayload.length * share) : 0
      response.write(rawPayload.subarray(0, length))
      setTimeout(() => response.end(rawPayload.subarray(length)), isPage ? PAUSE : 0)
    }
    const server = createServer((request, response) => { answer(request, response).catch((error: unknown) => response.destroy(error as Error)) })
    await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
    t.teardown(() => { server.closeAllConnections(); server.close() })
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const pages = await Promise.all([1280, 360].map(async (width) => await browser.newPage({ viewport: { width, height: 720 } })))
    for (const page of pages) await page.addInitScript(OBSERVE_SHIFTS)
    for (const path of [...PATHS, `/_profiler/${String(sent.headers['x-debug-token'])}/replay`, '/orders', '/nothing']) {
      for (share of SHARES) {
        await Promise.all(pages.map(async (page) => {
          await page.goto(origin + path)
          await page.waitForTimeout(100)
          const shifts = (await page.evaluate<string[]>('window.shifts')).map((text) => JSON.parse(text) as [value: number, moved: unknown])
          const sum = shifts.reduce((sum, [value]) => sum + value, 0)
          t.ok(sum <= MAX_SHIFT, `${path}, ${page.viewportSize()?.width} pixels, ${share}: ${sum}`, { shifts })
        }))
      }
    }
  })
}
