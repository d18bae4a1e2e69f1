import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { Test } from 'tap'
import { editorLink } from '../../src/view/editor.js'
import { flattenError } from '../../src/errors/masked-exceptions.js'
import { renderReport } from '../../src/error-page/diagnostic-page.js'
import type { ErrorReport } from '../../src/errors/report.js'
import { axeViolations, watchedPage, type WatchedPage } from '../support/page.js'
import { record, sampleReport } from '../errors/sample.js'

const POLICY = "default-src 'none'; style-src 'nonce-st'; script-src 'nonce-sc'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action " +
  "'none'; frame-ancestors 'none'"

/** What would do harm if a page took it for more than text. */
export const HOSTILE = '"\'><script nonce="sc">alert(1)</script><img src="http://127.0.0.1:9/x" onerror=alert(2)></style><style nonce="st">@import ' +
  '"http://127.0.0.1:9/y";</style>javascript:alert(3)\u202e'

const DIFFERENCES = '<section><h2>Differences</h2><table><tbody><tr>' +
  `<th scope="row">GET http://h/${'a'.repeat(50)}</th><td>200</td><td>not sent</td></tr></tbody></table>` +
  '<script>window.hacked = true</script></section>'

/** Serves pages by their path under the policy that the application gives them, and says where. */
export async function serve (t: Test, pages: Readonly<Record<string, Partial<ErrorReport>>>): Promise<string> {
  const bodies = new Map(Object.entries(pages).map(([path, changes]) => [
    path, renderReport(sampleReport(changes), 'html', { script: 'sc', style: 'st' }, editorLink({ editor: 'vscode' }))
  ]))
  let asked = 0
  const server = createServer((request, response) => {
    // As for a profile that is stored a moment after its page was sent.
    if (request.url === '/_profiler/first/differences') {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p class="note">No success of the same route is stored before this request.</p>')
      return
    }
    if (request.url?.endsWith('/differences') === true) {
      response.writeHead(asked++ === 0 ? 404 : 200, { 'content-type': 'text/html' }).end(DIFFERENCES)
      return
    }
    if (request.url === '/_profiler/abc123.md') {
      response.writeHead(200, { 'content-type': 'text/markdown' }).end('# The profile\n')
      return
    }
    response.writeHead(500, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY }).end(bodies.get(request.url ?? '') ?? '')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => { server.close().closeAllConnections() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A failure of everyday: a chain of two, logs of several levels and channels. */
export function everyday (): Partial<ErrorReport> {
  const tree = new AggregateError([new Error('first', { cause: 'why' }), 'second'], `All replicas failed ${'x'.repeat(400)}`)
  return {
    status: 500,
    reason: 'Internal Server Error',
    exceptions: flattenError(new Error('Outer', { cause: tree })),
    logs: [
      record('debug', 'a detail'), { ...record('info', 'an information', { deep: { a: [1] } }), channel: 'app' },
      record('warn', 'a warning'), { ...record('error', 'an error'), time: '2026-11-21T05:56:31.456Z' }
    ],
    hints: [{ title: 'Hint', text: 'Like this.', code: 'app.get()', routes: [{ methods: ['GET', 'POST'], pattern: '/robots', why: 'segment 1' }] }],
    request: { method: 'GET', url: `http://x/${'long'.repeat(200)}`, ip: '::1', headers: [['accept', 'text/html']] }
  }
}

/** The same with hostile text wherever a page quotes something. */
export function hostile (): Partial<ErrorReport> {
  const frame = { file: `/srv/${HOSTILE}.ts`, line: 3, column: 5, function: HOSTILE, own: true, excerpt: { start: 3, lines: [HOSTILE, '`' + HOSTILE] } }
  const exception = { name: HOSTILE, message: HOSTILE, code: HOSTILE, note: HOSTILE, stack: HOSTILE, frames: [frame, { ...frame, own: false }] }
  return {
    status: 404,
    reason: HOSTILE,
    exceptions: [exception, exception],
    logs: [{ ...record('error', HOSTILE, { [HOSTILE]: HOSTILE }), channel: HOSTILE, time: HOSTILE }, record('info', HOSTILE)],
    hints: [{ title: HOSTILE, text: HOSTILE, code: HOSTILE, routes: [{ methods: [HOSTILE], pattern: HOSTILE, why: HOSTILE }] }],
    request: { method: HOSTILE, url: `javascript:${HOSTILE}`, ip: HOSTILE, headers: [[HOSTILE, HOSTILE]] },
    raisedBy: { stage: HOSTILE, listener: HOSTILE },
    profile: { token: HOSTILE, url: `javascript:${HOSTILE}` }
  }
}

/** Opens a page and notes what no page may cause: dialogs, errors, refusals by the policy, requests to anywhere else. */
export async function open (browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const watched = await watchedPage(browser, url, options)
  await watched.page.goto(url)
  return watched
}

/** What axe finds on a page, all of it unfolded. */
export async function violations (page: Page): Promise<string[]> {
  await page.evaluate("for (const details of document.querySelectorAll('details')) details.open = true")
  return await axeViolations(page)
}
