import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { Profile } from '../../src/store/profile.js'
import { allowInspection, hasInspection } from '../support/inspection.js'
import { inBothProducts } from '../support/products.js'
import { CALLS, hostile, SHAPES, WITHOUT_CALL, type Shape } from '../fixtures/failing/shapes.js'

allowInspection()

function declare (app: FastifyInstance, path: string, { route, hook, errorHandler }: Shape): void {
  const options = { ...hook !== undefined && { [hook]: route }, ...errorHandler !== undefined && { errorHandler } }
  app.get(path, options as object, hook === undefined ? route as never : async () => ({ sent: true }))
}

/** The profile of a failed request, when the thread runs. */
async function failed (t: Test, app: FastifyInstance, path: string): Promise<Profile> {
  t.equal(await hasInspection(), true)
  const { headers, statusCode } = await app.inject({ url: path, headers: { accept: 'text/html' } })
  t.equal(statusCode, 500, path)
  const { body } = await app.inject(`/_profiler/${String(headers['x-debug-token'])}.json`)
  return JSON.parse(body) as Profile
}

/** The variables of the first call, in their order. */
function variablesOf ({ exceptions }: Profile): Record<string, unknown> {
  const [call] = exceptions[0]?.values ?? []
  return Object.fromEntries((call?.variables ?? []).map(({ name, value }) => [name, value]))
}

inBothProducts('each shape of failure has the values of its line', async (t, build) => {
  const shapes = Object.entries(SHAPES)
  const app = await build((app) => {
    for (const [name, shape] of shapes) declare(app, `/${name}`, shape)
  })
  for (const [name, { expected }] of shapes) {
    const profile = await failed(t, app, `/${name}`)
    const chain = [profile.exceptions, ...(profile.collectors.otherErrors ?? []) as Profile['exceptions'][]]
    const shown = chain.map((exceptions) => variablesOf({ ...profile, exceptions }))
    t.match(shown.find((one) => Object.keys(expected).every((key) => key in one)), expected, name)
  }
})

inBothProducts('a call that V8 does not have at the error has no values, and one of a dependency none', async (t, build) => {
  const app = await build((app) => {
    app.get('/file', WITHOUT_CALL.file)
    app.get('/declined', async (_request, reply) => await reply.code(500).send({ sent: true }))
  })
  const { exceptions: [error] } = await failed(t, app, '/file')
  t.equal(error?.code, 'ENOENT')
  t.equal(error?.values, undefined)
})

inBothProducts('no code of the application runs, and values are bounded', async (t, build) => {
  const app = await build((app) => {
    app.get('/hostile', hostile)
    app.get('/large', async () => {
      const list = Array.from({ length: 1_000_000 }, (_, i) => i)
      const text = 'long '.repeat(100_000)
      const deep = { a: { b: { c: { d: 1 } } }, list: [[[1]]] }
      const cycle: Record<string, unknown> = {}
      cycle.self = cycle
      throw new Error(String([list, text, deep, cycle].length))
    })
  })
  const { exceptions: [error] } = await failed(t, app, '/hostile')
  t.equal(CALLS.count, 0)
  const values = Object.fromEntries(error?.values?.[0]?.variables.map(({ name, value }) => [name, value]) ?? [])
  t.match(values, {
    object: /^\{ size: \[getter\], toString: \[function toString\]/,
    proxy: '[Proxy]',
    ofProxy: '{}',
    map: 'Map { a: { size: [getter], toString: [function toString], toJSON: [function toJSON] } }',
    list: '[[getter]]',
    named: '{}'
  })
  const large = variablesOf(await failed(t, app, '/large'))
  t.match(large.list, /^\[0, 1, 2, .*48, 49, … 999950 more\]$/)
  t.match(large.text, /^"long long /)
  t.ok(String(large.text).length < 230)
  t.equal(large.deep, '{ a: { b: {…} }, list: [Array(1)] }')
  t.equal(large.cycle, '{ self: { self: {…} } }')
})

inBothProducts('secrets are masked by their names and shapes', async (t, build) => {
  const jwt = `eyJhbGciOiJIUzI1NiJ9.${'eyJzdWIiOiIxMjM0NTY3ODkwIn0'.repeat(20)}.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c`
  const app = await build((app) => app.get('/secret', async () => {
    const password = 'correct horse'
    const user = { id: 1, apiKey: 'k-31415926', note: jwt, session: { id: 'abc' }, pairs: ['password', 'hidden-1'] }
    const header = `Bearer ${jwt}`
    const url = 'postgres://ann:hidden-2@localhost/shop'
    const secret = undefined
    throw new Error(String([password, user, header, url, secret].length))
  }), { mask: ['nickname'] })
  const profile = await failed(t, app, '/secret')
  const text = JSON.stringify(profile)
  for (const value of ['correct horse', 'k-31415926', 'SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV', 'eyJzdWIi', 'hidden-1', 'hidden-2', '"abc"']) {
    t.notMatch(JSON.stringify(profile.exceptions[0]?.values), value)
  }
  t.match(variablesOf(profile), { password: '******', secret: /^undefined/, url: '"postgres://ann:******@localhost/shop"' })
  t.match(text, 'correct')
})

inBothProducts('values are on the page, in its Markdown and JSON, and in the profile', async (t, build) => {
  const app = await build((app) => {
    const inner = (order: { id: number, lines?: string[] }): number => order.lines!.length
    app.get('/shown', async () => { const count = 3; return inner({ id: 8 }) + count })
  })
  const profile = await failed(t, app, '/shown')
  const { token, exceptions } = profile
  t.match(exceptions[0]?.values, [
    { function: 'inner', variables: [{ name: 'order', value: '{ id: 8 }' }] },
    { variables: [{ name: 'count', value: '3' }] }
  ])
  const { body } = await app.inject({ url: '/shown', headers: { accept: 'text/html' } })
  t.match(body, /<details class="call" open><summary>Variables of <code>inner \(packages\/hindsight\/test\/.*?<dt>order<\/dt> <dd>\{ id: 8 \}<\/dd>/s)
  t.match(body, /<details class="call"><summary>.*?<dt>count<\/dt> <dd>3<\/dd>/s)
  t.equal(body.split('<dt>order</dt>').length, 2, 'once')
  for (const url of [`/_profiler/${token}.md`, `/_profiler/${token}`, `/_profiler/${token}?panel=exceptions`]) {
    const page = await app.inject(url)
    t.match(page.body, /order(?: = |<\/dt> <dd>)\{ id: 8 \}/, url)
  }
})

inBothProducts('with values: false there are none', async (t, build) => {
  const app = await build((app) => app.get('/off', async () => { const id = 1; throw new Error(String(id)) }), { values: false })
  const { exceptions: [error] } = await failed(t, app, '/off')
  t.match(error, { message: '1', values: undefined })
})
