import { STATUS_CODES } from 'node:http'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import type { Test } from 'tap'
import { service } from '../../app/service.js'
import { build, headerOf, listen, rawText as raw, SECRET } from '../../packages/hindsight/test/support/app.js'

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
const POST = 'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n'
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`

/** Counts the smuggled requests that reached a route. */
const counted = new WeakMap<FastifyInstance, number>()

function routes (app: FastifyInstance): void {
  counted.set(app, 0)
  app.get('/ok', () => 'ok')
  app.post('/echo', request => ({ body: request.body ?? null }))
  app.all('/smuggled', () => { counted.set(app, (counted.get(app) ?? 0) + 1); return 'SMUGGLED' })
}

const statuses = (answer: string): number[] => [...answer.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z][A-Za-z ]+\r\n/g)].map(([, status]) => Number(status))

type Refused = [name: string, bytes: string, why: RegExp, status?: number]

const REFUSED: Refused[] = [
  ['CL.TE', `${POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`, /Transfer-Encoding can't be present with Content-Length/],
  [
    'TE.CL', `${POST}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`,
    /Content-Length can't be present with Transfer-Encoding/
  ],
  ...([
    ['another coding', 'Transfer-Encoding: xchunked', /Transfer-Encoding/],
    ['identity', 'Transfer-Encoding: identity', /Transfer-Encoding "identity": only "chunked" is supported/],
    ['none', 'Transfer-Encoding:', /Transfer-Encoding "": only "chunked" is supported|Empty Transfer-Encoding/],
    ['identity ahead', 'Transfer-Encoding: identity, chunked', /Transfer-Encoding "identity, chunked": only "chunked" is supported/],
    ['gzip ahead', 'Transfer-Encoding: gzip, chunked', /Transfer-Encoding "gzip, chunked": only "chunked" is supported/],
    ['gzip behind', 'Transfer-Encoding: chunked, gzip', /Transfer-Encoding/],
    ['twice in one', 'Transfer-Encoding: chunked, chunked', /Transfer-Encoding/],
    ['twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', /Transfer-Encoding/],
    ['another behind', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: cow', /Transfer-Encoding/],
    ['another ahead', 'Transfer-Encoding: cow\r\nTransfer-Encoding: chunked', /Transfer-Encoding "cow, chunked": only "chunked" is supported/],
    ['a comma ahead', 'Transfer-Encoding: ,chunked', /Transfer-Encoding ",chunked": only "chunked" is supported/],
    ['a comma behind', 'Transfer-Encoding: chunked,', /Transfer-Encoding/],
    ['a parameter', 'Transfer-Encoding: chunked;q=1', /Transfer-Encoding/],
    ['quoted', 'Transfer-Encoding: "chunked"', /Transfer-Encoding/],
    ['a tab behind', 'Transfer-Encoding: chunked\t', /Transfer-Encoding/],
    ['a vertical tab', 'Transfer-Encoding: \vchunked', /Invalid header value char/],
    ['NUL', 'Transfer-Encoding: chunked\0', /Invalid header value char/],
    ['space before the colon', 'Transfer-Encoding : chunked', /Invalid header field char/],
    ['a space ahead', ' Transfer-Encoding: chunked', /space|whitespace/i],
    ['folded', 'Transfer-Encoding:\r\n chunked', /Invalid header value char|whitespace/],
    ['behind a bare LF', 'X: y\nTransfer-Encoding: chunked', /Missing expected CR/],
    ['behind a bare CR', 'X: y\rTransfer-Encoding: chunked', /Missing expected LF/],
    ['in a folded line', 'X: y\r\n Transfer-Encoding: chunked', /whitespace/],
    ['in a name with NUL', 'Transfer-Encoding\0: chunked', /Invalid header token/]
  ] as const).map(([name, header, why]): Refused => [`TE.TE: ${name}`, `${POST}${header}\r\n\r\n0\r\n\r\n${SMUGGLED}`, why]),
  [
    'chunks in HTTP/1.0', `POST /echo HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
    /Transfer-Encoding "chunked": an HTTP\/1\.0 message has none/
  ],
  [
    'HTTP/2.0 that is only claimed', `GET /ok HTTP/2.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n${SMUGGLED}`,
    /HTTP\/2\.0 is not supported on this connection/
  ],
  [
    'HTTP/0.9 that is only claimed', `GET /ok HTTP/0.9\r\nHost: a\r\nConnection: keep-alive\r\n\r\n${SMUGGLED}`,
    /HTTP\/0\.9 is not supported on this connection/
  ],
  ['obs-fold', `GET /ok HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n${SMUGGLED}`, /whitespace/],
  ['obs-fold by a tab', `GET /ok HTTP/1.1\r\nHost: a\r\nX: y\r\n\tz\r\n\r\n${SMUGGLED}`, /whitespace/],
  ['obs-fold of a length', `${POST}Content-Length: 1\r\n 0\r\n\r\n${SMUGGLED}`, /whitespace/],
  ['obs-fold of the host', `GET /ok HTTP/1.1\r\nHost:\r\n a\r\n\r\n${SMUGGLED}`, /Invalid header value char|whitespace/],
  ['obs-fold of the first line', `GET /ok HTTP/1.1\r\n Host: a\r\n\r\n${SMUGGLED}`, /Unexpected space after start line/],
  ['bare LF everywhere', `GET /ok HTTP/1.1\nHost: a\n\n${SMUGGLED}`, /Expected CRLF after version/],
  ['bare LF behind a header', `GET /ok HTTP/1.1\r\nHost: a\nX: y\r\n\r\n${SMUGGLED}`, /Missing expected CR/],
  ['bare LF as the end', `GET /ok HTTP/1.1\r\nHost: a\r\n\n${SMUGGLED}`, /Invalid header field char/],
  ['bare CR as the end', `GET /ok HTTP/1.1\r\nHost: a\r\r\n\r\n${SMUGGLED}`, /Missing expected LF/],
  ...([
    ['twice, the same', `Content-Length: 0\r\nContent-Length: 0\r\n\r\n${SMUGGLED}`],
    ['twice, not the same', `Content-Length: 0\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`],
    ['a list', `Content-Length: 0, ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`],
    ['a list of the same', `Content-Length: 0, 0\r\n\r\n${SMUGGLED}`],
    ...['+0', '-0', '0x0', '0.0', '0e1', '0 0', '', '\v0', '0\0', '0;', '"0"', '99999999999999999999999999', '18446744073709551616'].map(
      length => [JSON.stringify(length), `Content-Length: ${length}\r\n\r\n${SMUGGLED}`]
    )
  ] as Array<[string, string]>).map(([name, rest]): Refused => [`length: ${name}`, POST + rest, /Content-Length/]),
  ['length: a space before the colon', `${POST}Content-Length : 0\r\n\r\n${SMUGGLED}`, /Invalid header field char/],
  ['header: NUL in the name', `GET /ok HTTP/1.1\r\nHost: a\r\nX\0: y\r\n\r\n${SMUGGLED}`, /Invalid header token/],
  ['header: no name', `GET /ok HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n${SMUGGLED}`, /Invalid header token/],
  ['header: a space in the name', `GET /ok HTTP/1.1\r\nHost: a\r\nX Y: y\r\n\r\n${SMUGGLED}`, /Invalid header token/],
  ...([
    ['bare LF in an extension', `1;a\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['bare LF behind an extension with a value', `1;a=b\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['bare CR in an extension', `1;a\rb\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['a line end in a quoted extension', `1;a="\r\n0\r\n\r\n${SMUGGLED}"\r\nx\r\n0\r\n\r\n`],
    ['NUL in an extension', `1;a=\0\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['extensions without end', `1;${'a'.repeat(20_000)}\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['space behind the size', `1 \r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['space before an extension', `1 ;a=b\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['space ahead of the size', ` 1\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['size 0x1', `0x1\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['size +1', `+1\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['size -1', `-1\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['size 1_0', `1_0\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['no size', `\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['a size of 17 digits', `10000000000000001\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['a size of 17 times f', `fffffffffffffffff\r\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['bare LF behind the size', `1\nx\r\n0\r\n\r\n${SMUGGLED}`],
    ['bare LF behind the data', `1\r\nx\n0\r\n\r\n${SMUGGLED}`],
    ['data that is longer than its size', `1\r\nxyz\r\n0\r\n\r\n${SMUGGLED}`],
    ['something else for the line end', `1\r\nxYY0\r\n\r\n${SMUGGLED}`],
    ['bare LF behind the last chunk', `0\n\n${SMUGGLED}`],
    ['bare LF for the end', `0\r\n\n${SMUGGLED}`],
    ['a length in the trailer', `0\r\nContent-Length: 5\r\n\r\n${SMUGGLED}`],
    ['a coding in the trailer', `0\r\nTransfer-Encoding: chunked\r\n\r\n${SMUGGLED}`],
    ['bare LF in the trailer', `0\r\nX: y\n\n${SMUGGLED}`],
    ['a fold in the trailer', `0\r\nX: y\r\n z\r\n\r\n${SMUGGLED}`],
    ['a request for a trailer', `0\r\n${SMUGGLED}`]
  ] as const).map(([name, body]): Refused => [`chunks: ${name}`, CHUNKED + body, /Malformed HTTP message: /]),
  ['chunks: a trailer without end', `${CHUNKED}0\r\nX: ${'y'.repeat(70_000)}\r\n\r\n${SMUGGLED}`, /header section is too large/, 431]
]

/** The message of the error in an answer of any form. */
function reasonIn (answer: string): string {
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4)
  if (body.startsWith('<')) return (/<p>(.*?)<\/p>/.exec(body)?.[1] ?? '').replaceAll('&#39;', "'")
  const { detail, title, exceptions } = JSON.parse(body) as { detail?: string, title?: string, exceptions?: Array<{ message: string }> }
  return exceptions?.at(-1)?.message ?? detail ?? title ?? ''
}

async function refused (t: Test, app: FastifyInstance, port: number, debug: boolean): Promise<void> {
  for (const [name, bytes, why, status = 400] of REFUSED) {
    const answer = await raw(port, bytes.replace('Host: a\r\n', 'Host: a\r\nAccept: application/json\r\n'))
    t.same(statuses(answer), [status], `${name}: is refused, and nothing else is answered`)
    t.equal(headerOf(answer, 'connection'), 'close', `${name}: the connection ends`)
    const reason = reasonIn(answer)
    // What the parser lets through is refused by request validation. It explains that in debug mode only, and not by HTTP/1.0, which a proxy may use.
    const isExplained = debug && !bytes.includes('HTTP/1.0')
    if (isExplained || reason !== STATUS_CODES[status]) t.match(reason, why, `${name}: the answer explains`)
    if (!debug) continue
    const { profiles } = await app.hindsight.profiler.search({ limit: 3 })
    const kept = await Promise.all(profiles.map(async ({ token }) => await app.hindsight.profiler.find(token)))
    t.ok(kept.some((profile) => profile?.status === status && why.test(profile.exceptions.at(-1)?.message ?? '')), `${name}: a profile explains`)
  }
  t.equal(counted.get(app), 0, 'no bytes after them were read as a request')
}

t.test('a message with an ambiguous end is refused, with all bytes after it', async t => {
  const app = await build(t, {}, routes)
  await refused(t, app, await listen(app), true)
})

t.test('production refuses ambiguous messages too', async t => {
  const app = await build(t, { debug: false }, routes)
  await refused(t, app, await listen(app), false)
})

t.test('without the server options of Hindsight, the plugin refuses ambiguous messages', async t => {
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(service, { debug: true, session: { secret: SECRET }, profiler: { storage: 'memory' } })
  routes(app)
  const port = await listen(app)
  for (const [name, bytes] of REFUSED.filter(([, , why]) => /understood|has none|not spoken/.test(String(why)))) {
    const told = statuses(await raw(port, bytes))
    t.ok(told.length > 0 && told.every(status => status === 400), `${name}: ${told.join()}`)
  }
  t.equal(counted.get(app), 0)
})

t.test('a body is never read as a request, and the next request is answered', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  const inside = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'
  const last = 'GET /ok HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
  const sized = `Host: a\r\nContent-Length: ${inside.length}\r\n`
  for (const [name, bytes, expected] of [
    ['GET with a body', `GET /ok HTTP/1.1\r\n${sized}\r\n${inside}`, [200, 200]],
    ['HEAD with a body', `HEAD /ok HTTP/1.1\r\n${sized}\r\n${inside}`, [200, 200]],
    ['not found', `POST /nix HTTP/1.1\r\n${sized}\r\n${inside}`, [404, 200]],
    ['a redirect', `GET /ok/ HTTP/1.1\r\n${sized}\r\n${inside}`, [301, 200]],
    ['a method that is not allowed', `OPTIONS /ok HTTP/1.1\r\n${sized}\r\n${inside}`, [405, 200]],
    ['an unknown media type', `POST /echo HTTP/1.1\r\n${sized}Content-Type: x/y\r\n\r\n${inside}`, [415, 200]],
    ['a host that is none', `POST /echo HTTP/1.1\r\nHost: a b\r\nContent-Length: ${inside.length}\r\n\r\n${inside}`, [400, 200]],
    ['an expectation that is not met', `POST /echo HTTP/1.1\r\n${sized}Expect: tea\r\n\r\n${inside}`, [417, 200]],
    ['a length with zeros', `GET /ok HTTP/1.1\r\nHost: a\r\nContent-Length: 00${inside.length}\r\n\r\n${inside}`, [200, 200]],
    ['chunks in letters of any case', `${POST}Transfer-Encoding: cHuNkEd\r\n\r\n${inside.length.toString(16)}\r\n${inside}\r\n0\r\n\r\n`, [200, 200]],
    ['chunks with an extension, which is ignored', `${CHUNKED}${inside.length.toString(16)};a=b;c="d"\r\n${inside}\r\n0\r\n\r\n`, [200, 200]],
    ['chunks with a trailer, which is ignored', `${CHUNKED}${inside.length.toString(16)}\r\n${inside}\r\n0\r\nHost: b\r\nX: y\r\n\r\n`, [200, 200]],
    ['another name for a length', `${POST}Content_Length: 5\r\nContent-Length: ${inside.length}\r\n\r\n${inside}`, [200, 200]]
  ] as const) t.same(statuses(await raw(port, bytes + last)), expected, name)
  t.equal(counted.get(app), 0, 'no body was read as a request')
})

t.test('an upgrade that is not accepted is the last request of its connection', async t => {
  const app = await build(t, {}, routes)
  const port = await listen(app)
  const upgrade = 'Host: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: h2c\r\n'
  for (const [name, bytes] of [
    ['a request behind it', `GET /ok HTTP/1.1\r\n${upgrade}\r\n${SMUGGLED}`],
    ['half a request behind it', `GET /ok HTTP/1.1\r\n${upgrade}\r\nGET /nix?`],
    ['a body', `POST /echo HTTP/1.1\r\n${upgrade}Content-Type: text/plain\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`],
    ['chunks', `POST /echo HTTP/1.1\r\n${upgrade}Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n${SMUGGLED.length.toString(
      16
    )}\r\n${SMUGGLED}\r\n0\r\n\r\n${SMUGGLED}`]
  ] as const) {
    const answer = await raw(port, bytes)
    t.same([statuses(answer), headerOf(answer, 'connection')], [[200], 'close'], name)
  }
  t.equal(counted.get(app), 0)
})
