import { JSDOM } from 'jsdom'
import t from 'tap'
import { build } from '../../support/app.js'

// The page of a running application; its parts are tested in the other files of this folder.
function texts (body: string, selector: string): string[] {
  return [...new JSDOM(body).window.document.querySelectorAll(selector)].map((element) => (element.textContent ?? '').replace(/\s+/g, ' ').trim())
}

t.test('the page names the handler or hook that raised the error', async (t) => {
  const app = await build(t, {}, (app) => {
    app.get('/handler', async () => { throw new Error('x') })
    app.get('/hook', { preValidation: async () => { throw new Error('x') } }, async () => 'x')
    app.get('/late', { onSend: async () => { throw new Error('x') } }, async () => 'x')
    app.get('/serialized', { preSerialization: async () => { throw new Error('x') } }, async () => ({}))
    app.post('/body', async () => 'x')
  })
  for (const [method, url, said] of [
    ['GET', '/handler', /^The handler of GET \/handler \(.*\) threw Error\.$/],
    ['GET', '/hook', /^GET \/hook failed with Error.*; the handler of GET \/hook \(.*\) did not run\.$/],
    ['GET', '/serialized', /^The handler of GET \/serialized \(.*\) had returned when its response failed with Error/],
    ['POST', '/body', /^The body is not valid JSON; the handler of POST \/body \(.*\) did not run\.$/],
    ['GET', '/nowhere', /^No route matches GET \/nowhere; /]
  ] as const) {
    const { body } = await app.inject({ method, url, headers: { accept: 'text/html', ...(method === 'POST' && { 'content-type': 'application/json' }) }, ...(method === 'POST' && { payload: '{' }) })
    t.match(texts(body, '.what'), [said], url)
  }
})

t.test('the page has its policy, place, editor link and profile, no secret, and less than 60 kB', async (t) => {
  const app = await build(t, { editor: 'vscode', editorPaths: { [import.meta.dirname]: '/home/me' } }, (app) => app.get('/', async (request) => {
    request.log.info({ password: 'hunter' + 2 }, 'before it failed')
    throw new Error('x', { cause: new TypeError('y') })
  }))
  const { body, headers } = await app.inject({ url: '/', headers: { accept: 'text/html', authorization: 'Bearer abcdef' + 123 } })
  const nonces = /^default-src 'none'; style-src 'nonce-([^']+)'; script-src 'nonce-([^']+)'; /.exec(String(headers['content-security-policy']))
  t.match(body, `<style nonce="${nonces?.[1]}">`)
  t.equal(body.split(`<script nonce="${nonces?.[2]}">`).length, 3)
  t.match(texts(body, '.where h2')[0], /^In your code: .*application\.test\.ts:\d+:\d+ Object\.<anonymous>$/)
  t.match(body, /<a class="open" href="vscode:\/\/file\/home\/me\/application\.test\.ts:\d+:\d+">/)
  t.match(texts(body, '.band a code'), ['GET /', headers['x-debug-token']])
  t.notMatch(body, new RegExp(['hunter' + 2, 'abcdef' + 123].join('|')))
  t.match(texts(body, '#request dd'), ['GET'])
  t.ok(Buffer.byteLength(body) < 60_000, `${Buffer.byteLength(body)} bytes`)
})

t.test('an editor with an unsafe URL stops the start', async (t) => {
  await t.rejects(build(t, { editor: 'javascript:alert(%f)' }), { message: /^Option "editor" \(EDITOR_URL\): the scheme "javascript:" is not allowed/ })
})
