import fc from 'fast-check'

/** What goes over the wire of one connection, and what must come back. */
export interface Exchange {
  /** Latin-1. */
  bytes: string
  /** How many responses a server owes at least; 0 where it may refuse and close as it likes. */
  owed: number
  /** Whether the message is ambiguous about where it ends, so that only a refusal is safe. */
  smuggling: boolean
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE', 'CONNECT', 'get', 'G{T', 'FOO', '']
const PATHS = [
  '/', '/hello', '/echo', '/fail', '/nowhere', '/_profiler/', '/_profiler/latest', '/_profiler/3fa94c', '/_wdt/3fa94c', '/_profiler/../echo', '/%2e%2e/echo',
  '/hello/', '//evil.example/', '/\\evil.example', '/hello;x=1', '/item/%00', '/item/%zz', '/item/%e4', `/item/${'a'.repeat(300)}`, '*', 'http://h.test/hello', 'hello', ''
]
const octet = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code))
const printable = fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code))
const octets = (maxLength: number): fc.Arbitrary<string> => fc.array(octet, { maxLength }).map((all) => all.join(''))
const word = (maxLength: number): fc.Arbitrary<string> => fc.array(printable, { minLength: 1, maxLength }).map((all) => all.join(''))
const token = fc.stringMatching(/^[a-z][a-z-]{0,15}$/)

const target = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...PATHS) },
  { weight: 3, arbitrary: word(60).map((text) => `/${text}`) },
  { weight: 1, arbitrary: octets(40) }
)
const wildHeader = fc.oneof(
  fc.tuple(token, word(40)).map(([name, value]) => `${name}: ${value}`),
  fc.tuple(token, octets(30)).map(([name, value]) => `${name}: ${value}`),
  fc.tuple(octets(10), octets(20)).map(([name, value]) => `${name}:${value}`),
  fc.constantFrom(
    'Host: h.test', 'Host: ', 'Host: a,b', 'Host: h.test:99999', 'Host: [::1', 'Content-Length: 5', 'Content-Length: -1', 'Content-Length: 5, 5', 'Content-Length: 0x5',
    'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip', 'Transfer-Encoding : chunked', 'Expect: 100-continue', 'Expect: tea', 'Upgrade: websocket', 'Connection: upgrade',
    'Connection: close', 'Connection: keep-alive', 'Accept: text/html;q=x, */*;q=2', 'Accept: application/json', 'Cookie: a=b; c; =d; e="f', 'If-None-Match: W/"x', 'Range: bytes=9-1',
    'X-Forwarded-Host: evil.example', 'X-Forwarded-For: 127.0.0.1', 'Forwarded: for="[::1]";proto=', 'X-HTTP-Method-Override: DELETE', 'Origin: null', 'Authorization: Basic !!!',
    'Traceparent: 00-x-y-z', 'Content-Type: application/json', 'Content-Type: multipart/form-data', 'Content-Encoding: gzip', `X-Long: ${'y'.repeat(2_000)}`, ' folded: line', 'No colon'
  )
)

/** A message that is as it should be: it is owed a response. */
const sound = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'),
  path: fc.constantFrom('/', '/hello', '/echo', '/fail', '/nowhere', '/item/7', '/item/a%20b', '/_profiler/', '/hello?a=1&b[]=2'),
  headers: fc.array(fc.tuple(token.filter((name) => !/^(?:host|connection|content-|transfer-|expect|upgrade|te$|trailer)/.test(name)), word(40)), { maxLength: 6 }),
  body: fc.option(fc.oneof(fc.json({ maxDepth: 2 }), word(100)), { nil: null }),
  chunked: fc.boolean()
}).map(({ method, path, headers, body, chunked }) => {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...headers.map(([name, value]) => `x-${name}: ${value}`)]
  if (body === null) return `${lines.join('\r\n')}\r\n\r\n`
  const bytes = Buffer.from(body).toString('latin1')
  const typed = [...lines, 'Content-Type: application/json']
  return chunked
    ? `${[...typed, 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n${bytes.length.toString(16)}\r\n${bytes}\r\n0\r\n\r\n`
    : `${[...typed, `Content-Length: ${bytes.length}`].join('\r\n')}\r\n\r\n${bytes}`
})

const wild = fc.record({
  method: fc.oneof(fc.constantFrom(...METHODS), octets(5)),
  target,
  version: fc.oneof({ weight: 5, arbitrary: fc.constantFrom('HTTP/1.1') }, { weight: 1, arbitrary: fc.constantFrom('HTTP/1.0', 'HTTP/9.9', 'HTTP/0.9', 'http/1.1', 'HTTP/1.1 x', 'SPDY/3', '') }),
  end: fc.oneof({ weight: 8, arbitrary: fc.constant('\r\n') }, { weight: 1, arbitrary: fc.constantFrom('\n', '\r', '\r\r\n', '\0\r\n') }),
  headers: fc.array(wildHeader, { maxLength: 8 }),
  body: fc.oneof(fc.constant(''), octets(60), fc.constantFrom('5\r\nhello\r\n0\r\n\r\n', '5;ext="\\r"\r\nhello\r\n0\r\n\r\n', 'zz\r\n', 'ffffffffffffffff\r\n', '5\nhello\n0\n\n', '0\r\nTrailer: x\r\n\r\n'))
}).map(({ method, target, version, end, headers, body }) => `${method} ${target} ${version}${end}${headers.map((line) => line + end).join('')}${end}${body}`)

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
const ambiguous = fc.constantFrom(
  `Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n${SMUGGLED}`,
  `Content-Length: 0\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
  `Content-Length: 0, ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
  `Content-Length: +0\r\n\r\n${SMUGGLED}`,
  `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n${SMUGGLED}`,
  `Transfer-Encoding: chunked\r\n\r\n 0\r\n\r\n${SMUGGLED}`,
  `Transfer-Encoding: chunked\r\n\r\n0;\n\r\n${SMUGGLED}`,
  `Transfer-Encoding: chunked\n\n0\r\n\r\n${SMUGGLED}`
).map((rest) => `POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\n${rest}`)

/** Connections of all kinds: sound ones (pipelined too), cut ones, wild ones, and those that try to smuggle a request. */
export const exchange: fc.Arbitrary<Exchange> = fc.oneof(
  { weight: 4, arbitrary: fc.array(sound, { minLength: 1, maxLength: 4 }).map((all) => ({ bytes: all.join(''), owed: all.length, smuggling: false })) },
  { weight: 5, arbitrary: wild.map((bytes) => ({ bytes, owed: 0, smuggling: false })) },
  { weight: 2, arbitrary: fc.tuple(fc.oneof(sound, wild), fc.nat()).map(([bytes, cut]) => ({ bytes: bytes.slice(0, cut % (bytes.length + 1)), owed: 0, smuggling: false })) },
  { weight: 1, arbitrary: ambiguous.map((bytes) => ({ bytes, owed: 0, smuggling: true })) },
  { weight: 1, arbitrary: octets(400).map((bytes) => ({ bytes, owed: 0, smuggling: false })) }
)
