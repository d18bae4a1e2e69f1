import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'
import t from 'tap'
import { flattenError } from '../../../plugins/diagnostics/flatten-error.js'
import { renderReport } from '../../../plugins/diagnostics/render.js'
import { record, sampleReport } from '../sample.js'

const EXECUTABLE = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']
const POLICY = "default-src 'none'; style-src 'nonce-st'; script-src 'nonce-sc'; img-src 'self' data:; base-uri 'none'; form-action 'none'"
const HOSTILE = '"\'><script nonce="sc">alert(1)</script><img src="http://127.0.0.1:9/x" onerror=alert(2)></style>\u202e'

if (!existsSync(EXECUTABLE)) {
  t.pass('there is no browser here', { skip: EXECUTABLE })
} else {
  const tree = new AggregateError([new Error(HOSTILE, { cause: HOSTILE }), 'second'], `All replicas failed ${'x'.repeat(400)}`)
  const body = renderReport(sampleReport({
    status: 500,
    reason: 'Internal Server Error',
    exceptions: flattenError(new Error('Outer', { cause: tree })),
    logs: [record('debug', HOSTILE), record('info', 'an information', { [HOSTILE]: HOSTILE }), record('warn', 'a warning'), record('error', 'an error')],
    hints: [{ title: 'Hint', text: HOSTILE, code: 'app.get()' }],
    request: { method: 'GET', url: `http://x/${'long'.repeat(200)}`, ip: '::1', headers: [['x-hostile', HOSTILE]] }
  }), 'html', { script: 'sc', style: 'st' })
  const server = createServer((_request, response) => {
    response.writeHead(500, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: ARGS })
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  t.teardown(async () => {
    await browser.close()
    server.close()
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [360, 1280, 1920]) {
      t.test(`${colorScheme}, ${width} pixels wide`, async (t) => {
        const page = await browser.newPage({ colorScheme, viewport: { width, height: 800 } })
        const heard: string[] = []
        page.on('dialog', (dialog) => {
          heard.push(`dialog ${dialog.message()}`)
          dialog.dismiss().catch(() => {})
        })
        page.on('pageerror', (error) => heard.push(`error ${error.message}`))
        page.on('console', (message) => { if (/Content Security Policy|Refused/.test(message.text())) heard.push(message.text()) })
        page.on('request', (request) => { if (!request.url().startsWith(url)) heard.push(`request ${request.url()}`) })
        await page.goto(url)
        t.equal(await page.evaluate('Math.max(0, document.documentElement.scrollWidth - innerWidth)'), 0, 'nothing is wider than the window')
        const violations = await page.evaluate(`${axe}\naxe.run(document).then((result) => result.violations.map((one) => one.id + ' ' + one.nodes[0].html))`)
        t.same(violations, [])
        t.same(heard, [], 'no dialog, no request, no refusal, no error')
        await page.close()
      })
    }
  }

  t.test('filters and copying', async (t) => {
    const page = await browser.newPage()
    await page.goto(url)
    const lines = async () => await page.locator('#logs tbody tr:visible').count()
    t.equal(await lines(), 4)
    await page.getByLabel('Containing').fill('WARNING')
    t.equal(await lines(), 1)
    await page.getByLabel('Containing').fill('')
    const button = page.locator('.trace .copy').first()
    // As on plain http beyond the loopback interface, where this interface does not exist.
    await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await page.evaluate("document.addEventListener('copy', () => { window.copied = document.getSelection().toString() || document.activeElement.value })")
    await button.click()
    t.equal(await button.textContent(), 'Copied')
    t.equal(await page.evaluate('window.copied'), await page.locator('.trace pre').first().textContent())
    await page.close()
  })

  t.test('without JavaScript everything is there, the filter by level too', async (t) => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(url)
    t.equal(await page.locator('#logs tbody tr:visible').count(), 4)
    await page.getByLabel('Warnings and up').check()
    t.equal(await page.locator('#logs tbody tr:visible').count(), 2)
    await page.getByRole('link', { name: 'Stack Traces' }).click()
    t.match(page.url(), /#stack-traces$/)
    t.equal(await page.locator('.trace pre:visible').count(), 5)
    t.equal(await page.locator('.copy').count(), 0, 'no button that would do nothing')
    await context.close()
  })
}
