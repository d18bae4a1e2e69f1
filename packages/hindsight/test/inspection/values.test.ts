import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { Profile } from '../../src/store/profile.js'
import { allowInspection, hasInspection } from '../support/inspection.js'
import { inBothProducts } from '../support/products.js'
import { withoutMarks } from '../support/marks.js'
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

inBothProducts('a thrown value that is no error has the line that has thrown it', async (t, build) => {
  const app = await build((app) => {
    for (const [path, value] of [['/object', { statusCode: 500 }], ['/text', 'a text']] as const) {
      app.get(path, async function thrower () {
        if (path.length > 0) throw value
      })
    }
  })
  for (const path of ['/object', '/text']) {
    const { exceptions: [error] } = await failed(t, app, path)
    const [frame] = error?.frames ?? []
    t.match(frame, { file: /values\.test\.ts$/, function: 'thrower', own: true }, path)
    t.match(frame?.excerpt?.lines[frame.line - frame.excerpt.start], /throw value/)
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
      const wide = Object.fromEntries(list.slice(0, 1000).map((i) => [`key${i}`, i]))
      const map = new Map(list.slice(0, 1000).map((i) => [i, i]))
      const set = new Set(list)
      throw new Error(String([list, text, deep, cycle, wide, map, set].length))
    })
  })
  const { exceptions: [error] } = await failed(t, app, '/hostile')
  t.equal(CALLS.count, 0)
  const values = variablesOf({ exceptions: [error] } as Profile)
  for (const name of ['object.size', 'proxy.a', 'ofProxy.a']) t.notOk(name in values, name)
  t.match(values, {
    object: '{ data: 1, more: 2, size: [getter] }',
    proxy: '[Proxy]',
    ofProxy: '{}',
    'holder.deep': '{ data: 1, more: 2, size: [getter] }',
    'holder.proxied': '[Proxy]',
    holder: '{ deep: { data: 1, more: 2, size: [getter] }, proxied: [Proxy] }',
    revoked: '[Proxy]',
    keys: 'Map { "{…}": 1, "[Proxy]": 2 }',
    blocked: 'Blocked {}',
    refusal: '[Refusal: ]',
    map: 'Map { a: { data: 1, more: 2, size: [getter] } }',
    list: '[[getter]]',
    named: '{}'
  })
  const profile = await failed(t, app, '/large')
  const large = variablesOf(profile)
  t.match(large.list, /^\[0, 1, 2, .*48, … 999951 more\]$/)
  t.match(large.text, /^"long long /)
  t.ok(String(large.text).length < 230)
  t.equal(large.deep, '{ a: { b: {…} }, list: [Array(1)] }')
  t.equal(large.cycle, '{ self: { self: {…} } }')
  t.match(large.wide, /^\{ key0: 0, .*, key49: 49, … 950 more \}$/)
  t.match(large.map, /^Map \{ "0": 0, .*"49": 49, … 950 more \}$/)
  const markdown = withoutMarks((await app.inject(`/_profiler/${profile.token}.md`)).body)
  const [variables = ''] = /Variables when it was thrown:\n[^]*?\n```\n/.exec(markdown) ?? []
  t.match(variables, /list = .*\n.*text = /)
  t.ok(Buffer.byteLength(variables) <= 600)
  t.match(large.set, /^\[0, .* 49, … 999950 more\]$/)
})

inBothProducts('objects of Fastify have their data, and properties that the line reads come before their variable', async (t, build) => {
  const app = await build((app) => app.post('/orders/:id', async function (request, reply) {
    await Promise.resolve()
    const service = { name: 'shop', find: () => 1, save: () => 2 }
    const order = { lines: { first: { sku: 'a' } }, find: () => 3, 'two words': 1 } as Record<string, any>
    const parts = [request.params, order.lines.first.sku.trim(), order.missing?.a.b, order.find, this, app, service]
    throw new Error(`${(request.body as { id: string }).id} ${parts.length} ${reply.statusCode}`)
  }))
  t.equal(await hasInspection(), true)
  const { headers } = await app.inject({ method: 'POST', url: '/orders/7?page=2', payload: { id: 'b' }, headers: { accept: 'text/html' } })
  const { body } = await app.inject(`/_profiler/${String(headers['x-debug-token'])}.json`)
  const values = variablesOf(JSON.parse(body) as Profile)
  t.match(values, {
    'request.body': '{ id: "b" }',
    request: /^Request \{ id: .*params: \{ id: "7" \}.*query: \{ page: "2" \}.*body: \{ id: "b" \}/,
    reply: /^Reply \{/,
    service: '{…}',
    order: '{ lines: { first: {…} }, "two words": 1 }'
  })
  t.notMatch(values.request, /raw|IncomingMessage|\[function/)
  t.ok(String(values.reply).length < 100)
  const names = Object.keys(values)
  t.ok(names.indexOf('request.body') < names.indexOf('request'))
})

interface User { plan: { rate: number, owner: { name: string } }, password: { hint: string }, gone?: { x: number } }

inBothProducts('a property of a property is read, as far as no getter is before it', async (t, build) => {
  const app = await build((app) => app.get('/read/:id', async (request) => {
    const user: User = { plan: { rate: 2, get owner () { return { name: 'a' } } }, password: { hint: 'hidden-3' } }
    const field = { name: 'password', value: 'hidden-4' }
    const id = (request.params as { id: string }).id
    await Promise.resolve()
    throw new Error(String([user.plan.rate, user.plan.owner.name, user.password.hint, id.length, user.gone?.x, field.value].length))
  }))
  const { exceptions: [error] } = await failed(t, app, '/read/7')
  const shown = error?.values?.[0]?.variables.slice(0, 8)
  t.match(shown, [
    { name: 'user.plan.rate', value: '2' },
    { name: 'user.plan', value: '{ rate: 2, owner: [getter] }' },
    { name: 'user.password.hint', value: '******' },
    { name: 'user.gone', value: 'undefined' },
    { name: 'user' },
    { name: 'id', value: '"7"' },
    { name: 'field.value', value: '******' },
    { name: 'field', value: '{ name: "password", value: ****** }' }
  ])
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

inBothProducts('secrets are masked wherever they are in a value', async (t, build) => {
  const token = (name: string): string => `eyJhbGciOiJIUzI1NiJ9.${Buffer.from(`{"sub":"${name}"}`.repeat(20)).toString('base64url')}.${'s'.repeat(43)}`
  const app = await build((app) => app.get('/secrets', async () => {
    await Promise.resolve()
    class Account { name = 'ann'; password = 'hidden-a'; recovery = new Map([['apiKey', 'hidden-b']]) }
    const account = new Account()
    const map = new Map<unknown, unknown>([['password', 'hidden-c'], ['user', { secret: 'hidden-d' }], [{ a: 1 }, 'shown-1']])
    const set = new Set<unknown>([{ password: 'hidden-e' }, token('set'), 'shown-2'])
    const buffer = Buffer.from('hidden-f')
    const bytes = new Uint8Array(buffer)
    const view = new DataView(bytes.buffer)
    const rawHeaders = ['Host', 'shown-3', 'Authorization', 'Basic aGlkZGVuLWc6aGlkZGVuLWc=', 'Cookie', 'sid=hidden-h', 'X-Api-Key', 'hidden-i']
    const pairs = [['password', 'hidden-j'], ['page', 'shown-4']]
    const address = new URL('https://ann:hidden-k@example.org/?access_token=hidden-l')
    const url = { href: 'redis://:hidden-m@localhost', list: ['postgres://ann:hidden-n@localhost/shop'] }
    const failure = new Error('password=hidden-o')
    const key = '-----BEGIN PRIVATE KEY-----\n' + 'hidden-p'.repeat(200) + '\n-----END PRIVATE KEY-----'
    const long = `Bearer ${token('long').repeat(10)}`
    const headers = new Headers({ authorization: 'Bearer hidden-q' })
    const form = new URLSearchParams({ password: 'hidden-r' })
    const json = JSON.stringify({ user: { password: 'hidden-s' } })
    const known = Symbol('password=hidden-t')
    throw new Error(String([account, map, set, buffer, bytes, view, rawHeaders, pairs].length + [address, url, failure, key].length +
      [long, headers, form, json, known].length))
  }))
  const profile = await failed(t, app, '/secrets')
  const values = JSON.stringify(profile.exceptions[0]?.values)
  t.same(values.match(/hidden-\w/g), null)
  t.notMatch(values, /aGlkZGVu|eyJzdWIi|InN1YiI6/)
  for (const shown of ['shown-1', 'shown-2', 'shown-3', 'shown-4']) t.match(values, shown)
  t.match(variablesOf(profile), { buffer: '[Buffer, 8 bytes]', bytes: '[Uint8Array, 8 bytes]' })
})

inBothProducts('values are on the page, in its Markdown and JSON, and in the profile', async (t, build) => {
  const app = await build((app) => {
    const inner = (order: { id: number, lines?: string[] }): number => order.lines!.length
    app.get('/shown', async () => { const count = 3; return inner({ id: 8 }) + count })
  })
  const profile = await failed(t, app, '/shown')
  const { token, exceptions } = profile
  t.match(exceptions[0]?.values, [
    { function: 'inner', variables: [{ name: 'order.lines', value: 'undefined' }, { name: 'order', value: '{ id: 8 }' }] },
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
