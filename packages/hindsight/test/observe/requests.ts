import { createHash } from 'node:crypto'
import { PAGE } from './routes/pages.js'
import type { Variant } from './variants.js'

/** A request to the application of `application.ts`. */
export interface TestRequest {
  name: string
  /** `inject` without it. */
  via?: 'socket' | 'raw' | 'websocket' | 'injected websocket' | 'aborted'
  method?: string
  url: string
  /** `null` removes a header of the variant. */
  headers?: Record<string, string | null>
  payload?: string | object
  /** What is written to the socket, where `via` is `raw`. */
  bytes?: string
  /** In the variant `plugins` one of Fastify's default handlers answers: in debug mode the diagnostic page replaces that for HTML. */
  page?: boolean
  /** The diagnostic page may replace the answer, or not. */
  either?: boolean
  /** Something other than an `Error` is thrown. If `onSend` then fails, Fastify 5.12 ends the process. */
  noError?: boolean
  /** Sent as it is here, and not a second time with an `Accept` header. */
  once?: boolean
  /** Its host may not see the debug surface. */
  stranger?: boolean
  /** The event of the application after which the request is complete. */
  until?: string
}

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const JSON_TYPE = { 'content-type': 'application/json' }
const ORIGIN = { origin: 'https://friend.example' }
const GZIP = { 'accept-encoding': 'gzip' }

const get = (url: string, more: Partial<TestRequest> = {}): TestRequest => ({ name: `GET ${url}`, url, ...more })
const options = (name: string, url: string, headers: Record<string, string>): TestRequest => ({ name, method: 'OPTIONS', url, headers })
const post = (name: string, url: string, payload: string | object, more: Partial<TestRequest> = {}): TestRequest =>
  ({ name, method: 'POST', url, payload, page: true, ...more })
const page = (url: string, more: Partial<TestRequest> = {}): TestRequest => get(url, { page: true, ...more })
const preflight = { ...ORIGIN, 'access-control-request-method': 'GET' }

const REPLIES: TestRequest[] = [
  ...['/json', '/json?a=1&a=2', '/callback', '/text', '/octets', '/none', '/null', '/nothing', '/long', '/redirect', '/not-modified', '/cookies', '/stream',
    '/stream/file', '/stream/web',
    '/response', '/trailers', '/raw', '/raw/not-hijacked', '/hijacked', '/events', '/events/stream', '/log', '/schema', '/query?n=1', '/like-fastify',
    '/throws/after-sending', '/sent-twice',
    '/own-handler', '/part/', '/context/', '/own/fails', '/own/fails/html', '/own/calls-not-found', '/own/nowhere', '/own'].map((url) => get(url)),
  ...['', '/octets', '/latin-1', '/stream', '/fragment', '/length', '/download', '/validators', '/error', '/policy/strict', '/policy/inline'].map(
    (url) => get(`/page${url}`)
  ),
  get('/part/inner/page'),
  { name: 'HEAD of JSON', method: 'HEAD', url: '/json' },
  { name: 'HEAD of a page', method: 'HEAD', url: '/page' },
  { name: 'HEAD of a route of its own', method: 'HEAD', url: '/head' },
  { name: 'PUT', method: 'PUT', url: '/several', payload: {} },
  { name: 'OPTIONS of a route of its own', method: 'OPTIONS', url: '/options', headers: preflight },
  { name: 'a version', url: '/users/7', headers: { 'accept-version': '1.x' } },
  { name: 'a body', method: 'POST', url: '/body', payload: { name: 'x' } },
  { name: 'another origin', url: '/json', headers: ORIGIN },
  { name: 'JSON that is compressed', url: '/long', headers: GZIP },
  { name: 'a page that is compressed', url: '/page', headers: GZIP },
  { name: 'a page of bytes that is compressed', url: '/page/octets', headers: { 'accept-encoding': 'br' } },
  { name: 'a URL that is rewritten', url: '/rewritten/json', page: true },
  { name: 'a URL in the other case', url: '/JSON', page: true },
  { name: 'JSON that is not modified', url: '/json', headers: { 'if-none-match': tagOf('{"hello":"world"}') } },
  { name: 'a page that is not modified', url: '/page', headers: { 'if-none-match': tagOf(PAGE) } }
]

/** As @fastify/etag makes it. */
function tagOf (body: string): string {
  return `"${createHash('sha1').update(body).digest('base64')}"`
}

const PLUGINS: TestRequest[] = [
  get('/session'),
  { name: 'a session and a cookie of the client', url: '/session', headers: { cookie: 'flavor=vanilla' } },
  ...[
    '/docs', '/docs/', '/docs/json', '/docs/yaml', '/docs/static/index.css', '/docs/static/swagger-initializer.js', '/static/page.html', '/static/data.txt'
  ].map((url) => get(url)),
  { name: 'HEAD of a static page', method: 'HEAD', url: '/static/page.html' },
  { name: 'a range of a static file', url: '/static/data.txt', headers: { range: 'bytes=2-5' } },
  { name: 'a range of a static page', url: '/static/page.html', headers: { range: 'bytes=0-20' } },
  { name: 'a range that cannot be satisfied', url: '/static/data.txt', headers: { range: 'bytes=900-' }, either: true },
  { name: 'a static page that is not modified', url: '/static/page.html', headers: { 'if-none-match': '*' } },
  { name: 'a static page that is compressed', url: '/static/page.html', headers: GZIP },
  { name: 'a static page on a socket', via: 'socket', url: '/static/page.html' },
  options('a preflight', '/json', preflight),
  options('a preflight of an unknown URL', '/nowhere', preflight),
  options('a preflight without a method', '/json', ORIGIN),
  { ...options('a preflight of another origin', '/json', { origin: 'https://foe.example', 'access-control-request-method': 'GET' }) },
  { name: 'a socket', via: 'websocket', url: '/socket' },
  { name: 'a socket that fails', via: 'websocket', url: '/socket/fails' },
  { name: 'a socket that is refused', via: 'websocket', url: '/socket/refused' },
  { name: 'a socket at a route of HTTP', via: 'websocket', url: '/json' },
  { name: 'a socket at an unknown URL', via: 'websocket', url: '/nowhere', either: true },
  { name: 'a socket that throws before the upgrade', via: 'websocket', url: '/socket/throws', either: true },
  { name: 'an injected socket', via: 'injected websocket', url: '/socket?injected' },
  { name: 'a route of sockets without an upgrade', url: '/socket' },
  page('/static/missing.html')
]

const FAILURES: TestRequest[] = [
  ...['/nowhere', '/page/', '/part/nowhere', '/throws/error', '/throws/at-once', '/throws/status', '/throws/not-found', '/throws/bad-status', '/throws/in-hook',
    '/throws/in-callback',
    '/schema/fails', '/returns-error', '/sends-error', '/stream/fails', '/calls-not-found', '/calls-not-found/later', '/calls-not-found/in-hook', '/query?n=x',
    '/part/fails', '/context/fails', '/users/7'].map((url) => page(url)),
  ...['/throws/string', '/throws/object'].map((url) => get(url, { either: true, noError: true })),
  ...['/throws/null', '/throws/undefined'].map((url) => get(url, { noError: true })),
  ...['/throws/in-serialization', '/schema/of-errors', '/failing-handler/again', '/error-field/fails', '/error-field/calls-not-found', '/bad%zzescape'].map(
    (url) => get(url, { either: true })
  ),
  ...['/throws/in-send', '/failing-handler/at-once', '/failing-handler/later', '/failing-send/always', '/failing-send/always/fails',
    '/failing-send/always/calls-not-found',
    '/failing-send/for-successes', '/error-field/'].map((url) => get(url)),
  { name: 'a parameter that is too long', url: `/users/${'7'.repeat(101)}`, headers: { 'accept-version': '1.x' }, either: true },
  page('/failing-send/for-successes/fails'),
  page('/failing-send/for-successes/calls-not-found'),
  get('/stream/fails-later'),
  ...['payload', 'value', 'header'].map((name) => get(`/refused/${name}`, { either: true })),
  page('/handler-timeout', { until: 'the handler ended after its timeout' }),
  { name: 'HEAD of an unknown URL', method: 'HEAD', url: '/nowhere', either: true },
  { name: 'HEAD of a failure', method: 'HEAD', url: '/throws/error', either: true },
  { name: 'DELETE of a known URL', method: 'DELETE', url: '/json', page: true },
  post('a body that is not valid', '/body', {}),
  post('JSON that cannot be parsed', '/body', '{', { headers: JSON_TYPE }),
  post('an empty JSON body', '/body', '', { headers: JSON_TYPE }),
  post('JSON with __proto__', '/body', '{"__proto__": {}}', { headers: JSON_TYPE }),
  post('a body that is too large', '/small', { text: 'longer than ten octets' }),
  post('an unsupported media type', '/body', 'x', { headers: { 'content-type': 'application/x-none' } }),
  post('an invalid media type', '/body', 'x', { headers: { 'content-type': '<script>' } }),
  { name: 'a failure of another origin', url: '/throws/error', headers: ORIGIN, either: true },
  { name: 'a failure with If-None-Match', url: '/throws/error', headers: { 'if-none-match': '"x"' }, page: true },
  { name: 'a failure that is compressed', url: '/throws/error', headers: GZIP, page: true },
  { name: 'no credentials', url: '/json', headers: { authorization: null } },
  { name: 'no credentials, an unknown URL', url: '/nowhere', headers: { authorization: null }, page: true },
  { name: 'wrong credentials', url: '/json', headers: { authorization: 'wrong' } },
  { name: 'wrong credentials, an unknown URL', url: '/nowhere', headers: { authorization: 'wrong' }, page: true }
]

const ON_A_SOCKET: TestRequest[] = [
  ...['/json', '/stream', '/trailers', '/events', '/raw', '/hijacked', '/none', '/stream/fails-later'].map(
    (url) => get(url, { name: `GET ${url} on a socket`, via: 'socket', once: true })
  ),
  get('/page', { name: 'GET /page on a socket', via: 'socket' }),
  ...['/throws/error', '/nowhere', '/calls-not-found'].map((url) => page(url, { name: `GET ${url} on a socket`, via: 'socket' })),
  { name: 'HEAD of a page on a socket', via: 'socket', method: 'HEAD', url: '/page', once: true },
  { name: 'a body on a socket', via: 'socket', method: 'POST', url: '/body', payload: { name: 'x' }, once: true },
  ...['/json', '/page', '/throws/error', '/nowhere'].map(
    (url) => get(url, { name: `GET ${url} of a stranger`, via: 'socket', headers: { ...HTML, host: 'shop.example' }, once: true, stranger: true })
  ),
  { name: 'a client that disconnects', via: 'aborted', url: '/slow', until: 'root onRequestAbort on "" ', once: true },
  raw('two requests in a row', 'GET /json HTTP/1.1\r\nHost: a\r\n\r\nGET /text HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
  raw('HTTP/1.0', 'GET /json HTTP/1.0\r\n\r\n'),
  raw('an invalid message', 'nonsense\r\n\r\n'),
  raw('no Host header', 'GET /json HTTP/1.1\r\nConnection: close\r\n\r\n'),
  raw('an invalid host', 'GET /nowhere HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n'),
  raw('headers that are too large', `GET /json HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`),
  raw('an invalid chunk size', 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n'),
  raw('an unknown expectation', 'GET /json HTTP/1.1\r\nHost: a\r\nExpect: nothing\r\nConnection: close\r\n\r\n'),
  raw('an absolute URL', 'GET http://a/json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
]

function raw (name: string, bytes: string): TestRequest {
  return { name, via: 'raw', url: '/', bytes, once: true }
}

/** The requests to a variant, without and with an `Accept` header that prefers HTML. Names are unique. */
export function requestsFor ({ thorough, plugins, failingSend, headers: always }: Variant): TestRequest[] {
  const all = [...REPLIES, ...(plugins === true ? PLUGINS : []), ...FAILURES, ...ON_A_SOCKET].filter(
    ({ noError }) => noError !== true || failingSend !== 'always'
  )
  return all.flatMap((each) => {
    const plain = { ...each, headers: { ...always, ...each.headers } }
    if (each.once === true) return [plain]
    const html = { ...plain, name: `${each.name} as HTML`, headers: { ...HTML, ...plain.headers } }
    return thorough === true || FAILURES.includes(each) ? [plain, html] : [html]
  })
}

/** Whether a request prefers HTML. */
export function prefersHtml ({ headers }: TestRequest): boolean {
  return headers?.accept === HTML.accept
}
