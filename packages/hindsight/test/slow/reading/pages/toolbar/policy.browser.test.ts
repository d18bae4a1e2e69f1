import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { allowsToolbar } from '../../../../../src/reading/pages/toolbar/policy.js'
import { isLong } from '../../../../support/long.js'
import { chromium } from '../../../support/browser.js'

/** `HOST` and `PORT` are those of the page. */
const POLICIES = [
  '', "DEFAULT-SRC 'Self'", 'default-src *', 'default-src http:', 'default-src https:', "default-src 'none'", 'default-src', "default-src 'none' 'self'",
  'default-src HOST:PORT', 'default-src http://HOST:PORT/', 'default-src https://HOST:PORT', 'default-src HOST:*', 'default-src HOST',
  'default-src http://HOST:PORT/public/',
  "script-src 'none'", "style-src 'none'", "style-src 'nonce-a'; script-src 'nonce-b'", "style-src 'unsafe-inline'; script-src 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'", "style-src 'self' 'nonce-a'; script-src 'self' 'nonce-b'",
  "style-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='",
  "default-src 'self'; connect-src https://api.test", "default-src 'self' 'strict-dynamic' 'nonce-a'", "default-src 'self'; upgrade-insecure-requests",
  "style-src-elem 'self'; style-src 'none'; script-src-elem 'self'; script-src 'none'", "style-src-elem 'none'; style-src 'self'; script-src-elem 'none'; " +
    "script-src 'self'",
  "style-src-attr 'none'; script-src-attr 'none'", "style-src 'self'; style-src 'none'", "default-src 'self', style-src 'none'",
  'sandbox allow-same-origin', 'sandbox allow-scripts allow-same-origin'
]
/** Policies that allow the files, under which there is no toolbar. */
const STRICTER = ['default-src http://HOST:PORT/', 'default-src HOST:*', 'sandbox allow-scripts allow-same-origin']

const browser = await chromium(t)
if (browser !== undefined) {
  t.test('the browser loads the files under each policy that allows the toolbar', async (t) => {
    let policy = ''
    const server = createServer((request, response) => {
      if (request.url === '/style.css') response.setHeader('content-type', 'text/css').end('p { color: rgb(1, 2, 3) }')
      else if (request.url === '/script.js') response.setHeader('content-type', 'text/javascript').end('document.title = "ran"')
      else {
        response.setHeader('content-security-policy', policy).setHeader('content-type', 'text/html').end(
          '<!doctype html><link rel="stylesheet" href="/style.css"><p>Text</p><script src="/script.js"></script>'
        )
      }
    })
    await new Promise<void>((resolve) => server.listen(0, resolve))
    t.teardown(() => { server.closeAllConnections(); server.close() })
    const { port } = server.address() as AddressInfo
    for (const host of ['localhost', '127.0.0.1', 'app.localhost']) {
      const page = await browser.newPage()
      // The others do not depend on the host.
      for (const one of isLong || host === 'localhost' ? POLICIES : POLICIES.filter((one) => one.includes('HOST'))) {
        policy = one.replaceAll('HOST', host).replaceAll('PORT', String(port))
        await page.goto(`http://${host}:${port}/`)
        const isLoaded = await page.title() === 'ran' && await page.locator('p').evaluate((p) => getComputedStyle(p).color === 'rgb(1, 2, 3)')
        const isAllowed = allowsToolbar([policy], { scheme: 'http', authority: `${host}:${port}` }, false)
        t.equal(isAllowed, isLoaded && !STRICTER.includes(one), `${host}: ${one}`)
      }
      await page.close()
    }
  })
}
