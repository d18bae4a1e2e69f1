import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { chromium } from 'playwright-core'
import application, { options } from '../../app/app.js'

// The pictures of the README and the docs, taken from the program itself: `npm run screenshots`.
const here = dirname(fileURLToPath(import.meta.url))
const FLAGS = ['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']

const app = Fastify({ ...options, logger: { level: 'silent' } })
await app.register(application, { hindsight: { debug: true, editor: 'vscode', profiler: { storage: 'memory' }, session: { secret: 'only-for-the-pictures-of-the-docs' } }, routesDir: join(here, 'none') })
await app.register((await import('./orders.js')).default)
await app.listen({ port: 0 })
const origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox', ...FLAGS] : FLAGS
})
for (const [name, path, colorScheme, width] of [
  ['diagnostic-page', '/orders/1042', 'light', 1280],
  ['diagnostic-page-dark', '/orders/1042', 'dark', 1280],
  ['diagnostic-page-narrow', '/orders/1042', 'light', 360],
  ['diagnostic-page-not-found', '/order/1042', 'light', 1280],
  ['profile-events', '/_profiler/latest', 'light', 1280]
] as const) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
  await page.goto(origin + path)
  if (name === 'profile-events') await page.goto(`${page.url()}?panel=events`)
  await page.screenshot({ path: join(here, `${name}.png`) })
  await page.close()
}
await browser.close()
await app.close()
