import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { chromium, type Page } from 'playwright-core'
import application, { options } from '../../app/app.js'
import { freePort } from '../../packages/hindsight/test/support/ports.js'
import { project, QUERIES_TUTORIAL, startShop, stepsOf, TUTORIAL } from '../../packages/hindsight/test/support/tutorial.js'

// The pictures of the README and the docs, taken from the program itself: `npm run screenshots`.
const here = dirname(fileURLToPath(import.meta.url))
const FLAGS = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']

const app = Fastify({ ...options, logger: { level: 'silent' } })
await app.register(application, { service: { debug: true, editor: 'vscode', profiler: { storage: 'memory' }, session: { secret: 'only-for-the-pictures-of-the-docs' } }, routesDir: join(here, 'none') })
await app.register((await import('./orders.js')).default)
await app.listen({ port: 0 })
const origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox', ...FLAGS] : FLAGS
})
async function take (name: string, path: string, colorScheme: 'light' | 'dark', width: number, prepare: (page: Page) => Promise<unknown> = async () => {}, height = 900): Promise<void> {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme })
  await page.goto(new URL(path, origin).href)
  await prepare(page)
  await hidePlace(page)
  await page.screenshot({ path: join(here, `${name}.png`) })
  await page.close()
}

/** Replaces the folder and the port of the machine that takes the pictures. */
async function hidePlace (page: Page): Promise<void> {
  await page.evaluate(([root, folder, origin]) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    while (walker.nextNode() !== null) {
      walker.currentNode.nodeValue = walker.currentNode.nodeValue?.replaceAll(root, '/app/').replaceAll(`${folder}/`, '/').replaceAll(origin, 'http://127.0.0.1:3000') ?? ''
    }
  }, [join(here, '../../'), folder, new URL(page.url()).origin] as const)
}

/** Another panel of the profile that the page shows. */
function panel (name: string): (page: Page) => Promise<unknown> {
  return async (page) => await page.goto(`${page.url()}?panel=${name}`)
}

async function openToolbar (page: Page): Promise<void> {
  await page.evaluate(async () => { for (const url of ['/rates', '/stock', '/orders/1042']) await fetch(url) })
  await page.locator('hindsight-toolbar .requests button').click()
}

/** Where the processor's time went, and who set the headers. */
async function takeReport (): Promise<void> {
  const { headers } = await fetch(`${origin}/report`, { headers: { 'x-hindsight-cpu': '1' } })
  const token = headers.get('x-debug-token') ?? ''
  await take('profile-cpu', `/_profiler/${token}?panel=cpu`, 'light', 1280, async () => {}, 760)
  await take('profile-headers', `/_profiler/${token}?panel=events`, 'light', 1280, async (page) => { await page.getByRole('heading', { name: 'Response headers' }).evaluate((heading) => heading.scrollIntoView({ behavior: 'instant' })) }, 620)
}

/** The order that can be shown, and the one that cannot. */
async function takeComparison (): Promise<void> {
  for (const id of [1041, 1042]) await fetch(`${origin}/orders/${id}`)
  const { profiles } = await (await fetch(`${origin}/_profiler/search.json?limit=2`)).json() as { profiles: Array<{ token: string }> }
  await take('profile-compare', `/_profiler/${profiles[1]?.token}/compare/${profiles[0]?.token}`, 'light', 1280)
}

/** Waits for the part of the page that its script loads. */
async function loaded (page: Page): Promise<unknown> {
  return await page.getByText('All differences').waitFor()
}

/** Starts the application of a tutorial. */
async function startTutorial (page: string) {
  const port = await freePort()
  const place = await project(folder)
  writeFileSync(join(place, 'app.js'), stepsOf(port, page).find(({ what }) => what === 'app.js')?.code ?? '')
  return { shop: await startShop(place), url: `http://127.0.0.1:${port}` }
}

/** The application of the tutorial, and what its reader sees. */
async function takeTutorial (): Promise<void> {
  const { shop, url } = await startTutorial(TUTORIAL)
  const reader = await browser.newPage()
  for (let i = 0; i < 3; i++) await reader.goto(`${url}/orders/1?currency=USD`)
  await reader.close()
  await take('tutorial-profile', `${url}/_profiler/latest?url=orders/1&panel=timeline`, 'light', 1000, async () => {}, 640)
  await take('tutorial-failure', `${url}/orders/1?currency=usd`, 'light', 1280, loaded, 900)
  shop.kill()
}

/** A slow request of the second tutorial. */
async function takeSlowRequest (): Promise<void> {
  const { shop, url } = await startTutorial(QUERIES_TUTORIAL)
  for (let i = 0; i < 3; i++) await fetch(`${url}/orders`)
  await take('slow-request', `${url}/_profiler/latest?url=/orders`, 'light', 1280, async () => {}, 500)
  shop.kill()
}

const folder = mkdtempSync(join(tmpdir(), 'hindsight-pictures-'))
// The first page loads modules, and a failure is compared with a success.
for (const path of ['/orders', '/orders/1041']) await fetch(origin + path)
await takeTutorial()
await takeSlowRequest()
await take('toolbar', '/orders', 'light', 1280, openToolbar, 320)
await take('profile-timeline', '/_profiler/latest?route=order_list', 'light', 1280, panel('timeline'))
// Called servers are linked a second later.
await setTimeout(1_500)
await take('search', '/_profiler/', 'light', 1280, async () => {}, 640)
await fetch(`${origin}/baskets`)
await take('profile-queries', '/_profiler/latest?route=basket_list', 'light', 1280, panel('queries'), 760)
await takeReport()
await takeComparison()
await browser.close()
await app.close()
rmSync(folder, { recursive: true })
