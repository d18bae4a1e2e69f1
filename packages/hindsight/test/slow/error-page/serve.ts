import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import type { Test } from 'tap'
import { editorLink } from '../../../src/view/editor.js'
import { renderFailure } from '../../../src/error-page/render-failure.js'
import type { FailureProfile } from '../../../src/error-page/failure-profile.js'
import { axeViolations, watchedPage, type WatchedPage } from '../support/page.js'
import { sampleFailure } from '../../errors/sample.js'

const POLICY = "default-src 'none'; style-src 'nonce-st'; script-src 'nonce-sc'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action " +
  "'none'; frame-ancestors 'none'"

const DIFFERENCES = '<section><h2>Differences</h2><table><tbody><tr>' +
  `<th scope="row">GET http://h/${'a'.repeat(50)}</th><td>200</td><td>not sent</td></tr></tbody></table>` +
  '<script>window.hacked = true</script></section>'

/** Serves pages by their path under the policy that the application gives them, and says where. */
export async function serve (t: Test, pages: Readonly<Record<string, Partial<FailureProfile>>>): Promise<string> {
  const bodies = new Map(Object.entries(pages).map(([path, changes]) => [
    path, renderFailure(sampleFailure(changes), 'html', { script: 'sc', style: 'st' }, editorLink({ editor: 'vscode' }))
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
