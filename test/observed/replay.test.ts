import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import type { FastifyInstance } from 'fastify'
import { fixture, type Configuration } from '../fixtures/service/application.js'
import { listen, profileOf, raw, type RawResponse } from '../../packages/hindsight/test/support/app.js'
import { comparable, onTheWire, recordedExpectation, withoutNonces, type Case, type Expectation, type RecordedCase } from './case.js'
import { rules } from './rules.js'

const recorded = JSON.parse(readFileSync(join(import.meta.dirname, 'cases.json'), 'utf8')) as RecordedCase[]
const cases = recorded.map(onTheWire)

const CONFIGURATION: Record<Case['config'], Configuration> = { base: 'base', serializer: 'base', proxy: 'proxy', prod: 'prod' }

t.test('the recorded cases, replayed', async (t) => {
  const passed = new Map<string, number>(rules.map(({ name }) => [name, 0]))
  let literally = 0
  for (const [config, name] of Object.entries(CONFIGURATION)) {
    await t.test(config, async (t) => {
      const app = await fixture(name)
      t.teardown(() => app.close())
      const port = await listen(app)
      for (const one of cases.filter((candidate) => candidate.config === config)) {
        const { expected, under } = adjusted(one)
        const results = await t.test(one.id, async (t) => await compare(t, app, port, one, expected))
        if (results?.ok !== true) continue
        if (under.length === 0) literally++
        for (const name of under) passed.set(name, (passed.get(name) ?? 0) + 1)
      }
    })
  }
  t.equal(cases.length, 199, 'all of them')
  t.comment(`${cases.length} cases; ${literally} as recorded, word for word`)
  for (const { name, reason } of rules) {
    t.comment(`${String(passed.get(name)).padStart(4)}  ${name}: ${reason}`)
    t.ok((passed.get(name) ?? 0) > 0, `needed: ${name}`)
  }
})

/** What is expected of us, and under which rules that differs from what was recorded. */
function adjusted (one: Case): { expected: Expectation, under: string[] } {
  let expected = recordedExpectation(one)
  const under: string[] = []
  for (const { name, applies, expect } of rules) {
    if (!applies(one, expected)) continue
    const next = expect(expected, one)
    if (!isDeepStrictEqual(next, expected)) under.push(name)
    expected = next
  }
  return { expected, under }
}

async function compare (t: Test, app: FastifyInstance, port: number, one: Case, wanted: Expectation): Promise<void> {
  // A client that has no more to say and has not ended its message ends the connection.
  const response = await raw(port, one.bytes, { end: !one.bytes.includes('\r\n\r\n') })
  if (response === null) throw new Error('The connection was closed without an answer')
  const expected = arrivedAt(wanted, one, port)
  const found = findings(response)
  t.equal(found.status, expected.status, 'status')
  t.equal(found.mediaType, expected.mediaType, 'media type')
  t.equal(found.policy, expected.policy, 'content security policy')
  t.equal(found.link, expected.link, 'X-Debug-Token-Link')
  t.equal(found.session, expected.session, 'the cookie of a session')
  t.strictSame(found.headers, expected.headers, 'headers')
  checkText(t, found.debugException, expected.debugException, 'X-Debug-Exception')
  if (expected.title !== null && found.mediaType === 'text/html') checkText(t, found.title, expected.title, 'title')
  if (expected.link === null) return
  t.ok(String(response.headers['x-debug-token-link']).endsWith(`/_profiler/${String(response.headers['x-debug-token'])}`), 'the link is that of the token')
  const { exceptions, status } = await profileOf(app, response)
  t.equal(status, expected.status, 'the profile\'s status')
  if (expected.status !== null && expected.status < 400) t.strictSame(exceptions, [], 'nothing was raised')
  if (expected.message !== null) {
    checkText(t, exceptions.at(-1)?.message, expected.message, 'message')
    checkText(t, exceptions.at(-2)?.message ?? null, expected.cause, 'cause')
  }
}

function checkText (t: Test, found: string | RegExp | null | undefined, expected: string | RegExp | null, what: string): void {
  if (expected instanceof RegExp) t.match(String(found), expected, what)
  else t.equal(found, expected, what)
}

function findings ({ status, headers, text }: RawResponse): Expectation {
  const policy = headers['content-security-policy']?.toString()
  const title = /<title>(.*?)<\/title>/s.exec(text)?.[1]
  return {
    ...comparable(headers),
    status,
    title: title === undefined ? null : unescaped(title),
    message: null,
    cause: null,
    policy: policy === undefined ? null : policy.startsWith("default-src 'none'; style-src 'nonce-") ? 'own' : withoutNonces(policy)
  }
}

function unescaped (html: string): string {
  return html.replace(/&#(\d+);|&(quot|lt|gt|amp);/g, (_entity, code: string | undefined, name: string) =>
    code === undefined ? { quot: '"', lt: '<', gt: '>', amp: '&' }[name] ?? '' : String.fromCodePoint(Number(code)))
}

// Without a host the request is about the address that it arrived at: the reference had a port of its own, as we have.
function arrivedAt (expected: Expectation, { bytes }: Case, port: number): Expectation {
  if (/^host:[ \t]*[^\s]/im.test(bytes)) return expected
  const moved = <T>(value: T): T => typeof value === 'string' ? value.replace(/127\.0\.0\.1:8100/, `127.0.0.1:${port}`) as T : value
  return {
    ...expected, title: moved(expected.title), message: moved(expected.message), debugException: moved(expected.debugException), link: moved(expected.link)
  }
}
