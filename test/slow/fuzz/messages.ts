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
  '/hello/', '//evil.example/', '/\\evil.example', '/hello;x=1', '/item/%00', '/item/%zz', '/item/%e4', `/item/${'a'.repeat(
    300
  )}`, '*', 'http://h.test/hello', 'hello', ''
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
    'Host: h.test', 'Host: ', 'Host: a,b', 'Host: h.test:99999', 'Host: [::1', 'Content-Length: 5', 'Content-Length: -1', 'Content-Length: 5, 5',
    'Content-Length: 0x5',
    'Transfer-Encoding: chunked', 'Transfer-Encoding: gzip', 'Transfer-Encoding : chunked', 'Expect: 100-continue', 'Expect: tea', 'Upgrade: websocket',
    'Connection: upgrade',
    'Connection: close', 'Connection: keep-alive', 'Accept: text/html;q=x, */*;q=2', 'Accept: application/json', 'Cookie: a=b; c; =d; e="f',
    'If-None-Match: W/"x', 'Range: bytes=9-1',
    'X-Forwarded-Host: evil.example', 'X-Forwarded-For: 127.0.0.1', 'Forwarded: for="[::1]";proto=', 'X-HTTP-Method-Override: DELETE', 'Origin: null',
    'Authorization: Basic !!!',
    'Traceparent: 00-x-y-z', 'Content-Type: application/json', 'Content-Type: multipart/form-data', 'Content-Encoding: gzip', `X-Long: ${'y'.repeat(
      2_000
    )}`, ' folded: line', 'No colon'
  )
)

/** A message that is as it should be: it is owed a response. */
const sound = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'),
  path: fc.constantFrom('/', '/hello', '/echo', '/fail', '/nowhere', '/item/7', '/item/a%20b', '/_profiler/', '/hello?a=1&b[]=2'),
  headers: fc.array(
    fc.tuple(token.filter((name) => !/^(?:host|connection|content-|transfer-|expect|upgrade|te$|trailer)/.test(name)), word(40)), { maxLength: 6 }
  ),
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
  version: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom('HTTP/1.1') },
    { weight: 1, arbitrary: fc.constantFrom('HTTP/1.0', 'HTTP/9.9', 'HTTP/0.9', 'http/1.1', 'HTTP/1.1 x', 'SPDY/3', '') }
  ),
  end: fc.oneof({ weight: 8, arbitrary: fc.constant('\r\n') }, { weight: 1, arbitrary: fc.constantFrom('\n', '\r', '\r\r\n', '\0\r\n') }),
  headers: fc.array(wildHeader, { maxLength: 8 }),
  body: fc.oneof(fc.constant(''), octets(60), fc.constantFrom(
    '5\r\nhello\r\n0\r\n\r\n', '5;ext="\\r"\r\nhello\r\n0\r\n\r\n', 'zz\r\n', 'ffffffffffffffff\r\n', '5\nhello\n0\n\n', '0\r\nTrailer: x\r\n\r\n'
  ))
}).map(({ method, target, version, end, headers, body }) => `${method} ${target} ${version}${end}${headers.map((line) => line + end).join('')}${end}${body}`)

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'
const END = `0\r\n\r\n${SMUGGLED}`
const spaces = fc.constantFrom('', ' ', '\t', '  ', ' \t')
const control = fc.integer({ min: 0, max: 31 }).filter((code) => code !== 9 && code !== 10 && code !== 13).map((code) => String.fromCharCode(code))
const visible = fc.stringMatching(/^[!-~]{1,8}$/)

/** Codings that are not `chunked` alone, however they are written. */
const coding = fc.oneof(
  fc.tuple(visible, spaces, fc.constantFrom('chunked', 'Chunked')).map(([other, space, last]) => `${other},${space}${last}`),
  fc.tuple(fc.constantFrom('chunked', 'CHUNKED'), spaces, visible).map(([first, space, other]) => `${first},${space}${other}`),
  fc.tuple(fc.constantFrom('chunked', 'identity', 'gzip'), control).map(([name, octet]) => name + octet),
  fc.tuple(control, fc.constant('chunked')).map(([octet, name]) => octet + name),
  visible.filter((text) => text.toLowerCase() !== 'chunked'),
  fc.constantFrom(
    '', ',', 'chunked,', ',chunked', '"chunked"', 'chunked;q=1', 'chunked chunked', 'chunked\r\nTransfer-Encoding: chunked', 'x\r\nTransfer-Encoding: chunked',
    'chunked\r\nTransfer-Encoding: x', '\r\n chunked', 'chunked\r\n ,x'
  )
).map((value) => `Transfer-Encoding: ${value}\r\n\r\n${END}`)

/** Lengths that are none, or more than one. */
const length = fc.oneof(
  fc.tuple(fc.nat({ max: 60 }), fc.nat({ max: 60 })).map(([one, other]) => `Content-Length: ${one}\r\nContent-Length: ${other}\r\n\r\n${SMUGGLED}`),
  fc.tuple(fc.nat({ max: 60 }), spaces, fc.nat({ max: 60 })).map(([one, space, other]) => `Content-Length: ${one},${space}${other}\r\n\r\n${SMUGGLED}`),
  fc.oneof(visible, control, fc.constantFrom('', '+0', '-0', '0x0', '0.0', '0e0', '0 0', '1_0', '99999999999999999999')).filter(
    (value) => !/^\d{1,18}$/.test(value)
  ).map((value) => `Content-Length: ${value}\r\n\r\n${SMUGGLED}`),
  fc.tuple(fc.nat({ max: 90 }), fc.boolean()).map(([size, first]) => {
    const [one, other] = [`Content-Length: ${size}\r\n`, 'Transfer-Encoding: chunked\r\n']
    return `${first ? one + other : other + one}\r\n${END}`
  }),
  fc.tuple(
    fc.constantFrom('Content-Length', 'Transfer-Encoding'), fc.oneof(control, fc.constantFrom(' ', '\t', '\r', '\n', '\0')), fc.constantFrom('0', 'chunked')
  ).map(([name, octet, value]) => `${name}${octet}: ${value}\r\n\r\n${END}`)
)

/** Line ends that are none, in the head and in folds. */
const lineEnd = fc.tuple(
  fc.constantFrom('\n', '\r', '\r\r\n', '\0\r\n', '\r\n ', '\r\n\t'), fc.constantFrom('Transfer-Encoding: chunked', 'Content-Length: 0', 'X: y')
)
  .map(([end, line]) => `X: y${end}${line}\r\n\r\n${END}`)

/** Chunks whose sizes, extensions or ends are not as they should be. */
const chunk = fc.oneof(
  fc.oneof(
    visible.filter((text) => !/^[0-9a-f]+(?:;|$)/i.test(text)), control,
    fc.constantFrom('0x1', '+1', '-1', ' 1', '1 ', '1_0', '', '10000000000000001', 'ffffffffffffffffff', '1\t')
  ).map((size) => `${size}\r\nx\r\n${END}`),
  fc.tuple(visible, fc.constantFrom('\n', '\r', '\0', '\r\r\n')).map(([extension, end]) => `1;${extension}${end}x\r\n${END}`),
  fc.constantFrom('\n', '\r', 'xx', '', '\r\r', '\0\0').map((end) => `1\r\nx${end}${END}`),
  fc.constantFrom(
    '0\n\n', '0\r\n\n', '0\r\r', '0\r\nX: y\n\n', '0\r\nX: y\r\n z\r\n\r\n', '0\r\nContent-Length: 1\r\n\r\n', '0\r\nTransfer-Encoding: chunked\r\n\r\n',
    '0\r\n'
  ).map((last) => last + SMUGGLED)
).map((body) => `Transfer-Encoding: chunked\r\n\r\n${body}`)

const ambiguous = fc.oneof(coding, length, lineEnd, chunk).map((rest) => `POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\n${rest}`)
const old = fc.constantFrom('1.0', '0.9', '2.0').map(
  (version) => `POST /echo HTTP/${version}\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n${END}`
)

/** A sound message with one octet changed, taken away or added. */
const mutated = fc.tuple(sound, fc.nat(), octet, fc.constantFrom('change', 'drop', 'add')).map(([bytes, at, by, how]) => {
  const place = at % bytes.length
  return bytes.slice(0, place) + (how === 'drop' ? '' : by) + bytes.slice(how === 'add' ? place : place + 1)
})

/** Connections of all kinds: sound ones (pipelined too), cut ones, wild ones, and those that try to smuggle a request, and those with one octet amiss. */
export const exchange: fc.Arbitrary<Exchange> = fc.oneof(
  { weight: 4, arbitrary: fc.array(sound, { minLength: 1, maxLength: 4 }).map((all) => ({ bytes: all.join(''), owed: all.length, smuggling: false })) },
  { weight: 5, arbitrary: wild.map((bytes) => ({ bytes, owed: 0, smuggling: false })) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.oneof(sound, wild), fc.nat()).map(([bytes, cut]) => ({ bytes: bytes.slice(0, cut % (bytes.length + 1)), owed: 0, smuggling: false }))
  },
  { weight: 2, arbitrary: fc.oneof({ weight: 20, arbitrary: ambiguous }, { weight: 1, arbitrary: old }).map((bytes) => ({ bytes, owed: 0, smuggling: true })) },
  { weight: 2, arbitrary: mutated.map((bytes) => ({ bytes, owed: 0, smuggling: false })) },
  { weight: 1, arbitrary: octets(400).map((bytes) => ({ bytes, owed: 0, smuggling: false })) }
)
