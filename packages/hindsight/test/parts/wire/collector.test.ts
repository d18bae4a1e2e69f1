import type { FastifyInstance, InjectOptions, RouteShorthandOptions } from 'fastify'
import type { Profile } from '../../../src/store/profile.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

interface Case {
  name: string
  options: RouteShorthandOptions
  send?: InjectOptions
  answer?: () => unknown
  sentences: string[]
  declare?: (app: FastifyInstance) => void
}

class User {
  email = 'ada@example.com'
  readonly id: number
  constructor (id: number) { this.id = id }
}
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const body = (schema: object): RouteShorthandOptions => ({ schema: { body: schema } })
const response = (schema: object): RouteShorthandOptions => ({ schema: { response: { 200: schema } } })
const post = (payload: object): InjectOptions => ({ method: 'POST', payload })
const loop: Record<string, unknown> = { id: 1 }
loop.self = loop

const CASES: Case[] = [
  // The request.
  {
    name: 'a type of the body',
    options: body(object({ qty: { type: 'integer' } })),
    send: post({ qty: '5' }),
    sentences: ['body.qty: "5" became 5 (type: integer)']
  },
  {
    name: 'a property that the schema does not allow',
    options: body(object({ qty: { type: 'integer' } }, { additionalProperties: false })),
    send: post({ qty: 5, extra: 1 }),
    sentences: ['body.extra was removed (additionalProperties: false)']
  },
  {
    name: 'a default of the body',
    options: body(object({ size: { type: 'string', default: 'M' } })),
    send: post({}),
    sentences: ['body.size was set to "M" (default)']
  },
  {
    name: 'a default of the query',
    options: { schema: { querystring: object({ limit: { type: 'integer', default: 20 } }) } },
    sentences: ['query.limit was set to 20 (default)']
  },
  {
    name: 'a type of the query, and a list',
    options: { schema: { querystring: object({ page: { type: 'number' }, tags: { type: 'array', items: { type: 'string' } } }) } },
    send: { query: { page: '2', tags: 'a' } },
    sentences: ['query.page: "2" became 2 (type: number)', 'query.tags: "a" became ["a"] (type: array)']
  },
  {
    name: 'a path parameter and a header',
    options: { schema: { params: object({ id: { type: 'integer' } }), headers: object({ 'X-Depth': { type: 'integer' } }) } },
    send: { headers: { 'x-depth': '3' } },
    sentences: ['params.id: "1" became 1 (type: integer)', 'headers.x-depth: "3" became 3 (type: integer)']
  },
  {
    name: 'items of a list, and a shared schema',
    declare: (app) => app.addSchema(object({ price: { type: ['number', 'null'] } }, { $id: 'item', additionalProperties: false })),
    options: body(object({ items: { type: 'array', items: { $ref: 'item#' } } })),
    send: post({ items: [{ price: '1.5', a: 1 }, { price: '2', a: 2 }, { price: 3, a: 3 }] }),
    sentences: ['body.items[].price: "1.5" became 1.5 (type: number | null), 2 times', 'body.items[].a was removed (additionalProperties: false), 3 times']
  },
  {
    name: 'alternatives',
    options: body(object({ filter: { anyOf: [object({ min: { type: 'integer' } }), { type: 'null' }] }, on: { type: 'boolean' } })),
    send: post({ filter: { min: '2' }, on: 'true' }),
    sentences: ['body.filter.min: "2" became 2 (type: integer)', 'body.on: "true" became true (type: boolean)']
  },
  {
    name: 'a schema of another kind',
    options: {
      schema: { body: { own: 'trimmed' } },
      validatorCompiler: () => (data: { name: string, age: string }) => ({ value: { name: data.name.trim(), born: new Date(0) } })
    },
    send: post({ name: ' Ada ', age: '36' }),
    sentences: ['body.name: " Ada " became "Ada" (validation)', 'body.age was removed (validation)', 'body.born was set to Date (validation)']
  },
  {
    name: 'a value of the body that a list of types excludes, masked',
    options: body(object({ password: { type: 'integer' }, token: { type: 'string', default: 'secret-default' } })),
    send: post({ password: '123456' }),
    sentences: ['body.password: "******" became "******" (type: integer)', 'body.token was set to "******" (default)']
  },
  // The response.
  {
    name: 'a field that the response schema does not have',
    options: response(object({ id: { type: 'integer' } })),
    answer: () => ({ id: 7, email: 'ada@example.com' }),
    sentences: ['response.email was removed (not in the schema of response 200)']
  },
  {
    name: 'types of the response schema',
    options: response(object({ id: { type: 'integer' }, total: { type: 'string' }, rate: { type: 'integer' }, at: { type: 'string', format: 'date' } })),
    answer: () => ({ id: '7', total: 12, rate: 7.6, at: new Date(0) }),
    sentences: [
      'response.id: "7" became 7 (type: integer)', 'response.total: 12 became "12" (type: string)', 'response.rate: 7.6 became 7 (type: integer)',
      'response.at: Date became "1970-01-01" (type: string)'
    ]
  },
  {
    name: 'a default of the response schema, and null',
    options: response(object({ role: { type: 'string', default: 'guest' }, name: { type: 'string' } })),
    answer: () => ({ name: null }),
    sentences: ['response.name: null became "" (type: string)', 'response.role was set to "guest" (default)']
  },
  {
    name: 'a list, and instances of a class',
    options: { schema: { response: { '2xx': { type: 'array', items: object({ id: { type: 'integer' } }) } } } },
    answer: () => [new User(1), new User(2)],
    sentences: ['response[].email was removed (not in the schema of response 2xx), 2 times']
  },
  { name: 'undefined', options: {}, answer: () => ({ id: 1, name: undefined }), sentences: ['response.name was removed (JSON has no undefined)'] },
  {
    name: 'a date',
    options: {},
    answer: () => ({ at: new Date(0), list: [undefined] }),
    sentences: ['response.at: Date became "1970-01-01T00:00:00.000Z" (toJSON)', 'response.list[0]: undefined became null (JSON has no undefined)']
  },
  {
    name: 'values without a form in JSON',
    options: {},
    answer: () => ({ ratio: NaN, tags: new Set(['a']), later: Promise.resolve(1), save () {}, index: new Map([[1, 2]]), broken: new Error('x') }),
    sentences: [
      'response.ratio: NaN became null (JSON has no NaN)', 'response.tags: Set became {} (JSON has no Set)',
      'response.later: Promise became {} (JSON has no Promise)',
      'response.save was removed (JSON has no function)', 'response.index: Map became {} (JSON has no Map)',
      'response.broken: Error became {} (JSON has no Error)'
    ]
  },
  {
    name: 'a BigInt with a schema',
    options: response(object({ id: { type: 'integer' } })),
    answer: () => ({ id: 10n }),
    sentences: ['response.id: BigInt became 10 (type: integer)']
  },
  {
    name: 'a BigInt with more digits than a number',
    options: response(object({ id: { type: 'integer' } })),
    answer: () => ({ id: 12345678901234567890n }),
    sentences: ['response.id: BigInt became integer (type: integer)']
  },
  {
    name: 'binary values',
    options: {},
    answer: () => ({ buffer: Buffer.from('hi'), list: new Uint8Array([1, 2]), none: new Uint8Array() }),
    sentences: [
      'response.buffer: Buffer became {"type":"Buffer","data":[104,105]} (JSON has no Buffer)',
      'response.list: Uint8Array became {"0":1,"1":2} (JSON has no Uint8Array)', 'response.none: Uint8Array became {} (JSON has no Uint8Array)'
    ]
  },
  { name: 'a BigInt', options: {}, answer: () => ({ list: [{ id: 10n }] }), sentences: ['response.list[0].id could not be serialized (JSON has no BigInt)'] },
  {
    name: 'a circular value',
    options: {},
    answer: () => ({ loop }),
    sentences: ['response.loop.self could not be serialized (it refers to an object that contains it)']
  },
  {
    name: 'a required field that is missing',
    options: response(object({ id: { type: 'integer' } }, { required: ['id'] })),
    answer: () => ({ name: 'Lamp', owner: { id: 7, tags: ['a'] }, list: [{ a: 1 }], none: null }),
    sentences: ['response schema 200 requires "id"; the handler returned {name, owner: {id, tags: [string]}, list: [{a}], none}']
  },
  {
    name: 'a value of another type',
    options: response(object({ id: { type: 'integer' } })),
    answer: () => ({ id: 'x' }),
    sentences: ['response schema 200 refuses "x", which cannot be converted to an integer; the handler returned {id}']
  },
  {
    name: 'a payload that a hook has changed',
    options: response(object({ id: { type: 'integer' } }, { required: ['id'] })),
    declare: (app) => app.addHook('preSerialization', async () => [1]),
    sentences: ['response schema 200 requires "id"; the preSerialization hook returned [number]']
  },
  {
    name: 'a payload that a hook has received and returned',
    options: response(object({ id: { type: 'integer' } }, { required: ['id'] })),
    declare: (app) => app.addHook('preSerialization', async (_request, _reply, payload: object) => Object.assign(payload, { added: 1 })),
    answer: () => ({ name: 'x' }),
    sentences: ['response schema 200 requires "id"; the payload was {name, added}']
  },
  {
    name: 'null, a list of schemas, and names by pattern',
    options: body(object({
      size: { type: 'number', nullable: true },
      pair: { type: 'array', items: [{ type: 'integer' }, { type: 'string' }], minItems: 2, additionalItems: false }
    }, { patternProperties: { '^n': { type: 'integer' } } })),
    send: post({ size: '', pair: ['1', 2], n1: '4' }),
    sentences: [
      'body.size: "" became null (type: number | null)', 'body.pair[0]: "1" became 1 (type: integer)', 'body.pair[1]: 2 became "2" (type: string)',
      'body.n1: "4" became 4 (type: integer)'
    ]
  },
  {
    name: 'a value that the response schema fixes',
    options: response(object({ kind: { const: 'order' }, id: { type: 'integer' } })),
    answer: () => ({ kind: 'user', id: 1, email: 'a' }),
    sentences: ['response.kind: "user" became "order" (const)', 'response.email was removed (not in the schema of response 200)']
  },
  {
    name: 'names that no pattern of the response schema has',
    options: response(object({}, { patternProperties: { '^x': { type: 'string' } } })),
    answer: () => ({ xa: 1, yb: 2 }),
    sentences: ['response.xa: 1 became "1" (type: string)', 'response.yb was removed (not in the schema of response 200)']
  },
  {
    name: 'an object that becomes text',
    options: response(object({ owner: { type: 'string' } })),
    answer: () => ({ owner: { id: 1 } }),
    sentences: ['response.owner: object became "[object Object]" (type: string)']
  }
]

interface Change { part: string, text: string, schema?: string }
const changesOf = ({ collectors }: Profile): Change[] => (collectors.wire as { changes: Change[] } | undefined)?.changes ?? []
const textsOf = (stored: Profile): string[] => changesOf(stored).map(({ text }) => text)

inBothProducts('each change is a sentence with its reason', async (t, build) => {
  const app = await build((app) => {
    for (const [i, { options, answer, declare }] of CASES.entries()) {
      app.register(async (app) => {
        declare?.(app)
        app.route({ method: 'POST', url: `/${i}/:id`, ...options, handler: async () => answer?.() ?? {} } as Parameters<FastifyInstance['route']>[0])
      })
    }
  })
  for (const [i, { name, send, sentences }] of CASES.entries()) {
    const stored = await profileOf(app, await app.inject({ method: 'POST', url: `/${i}/1`, ...send }))
    t.same(textsOf(stored), sentences, name)
  }
})

inBothProducts('a change has the address of the keyword', async (t, build) => {
  const price = { type: 'object', properties: { 'in/EUR': { type: 'number' } } }
  const app = await build((app) => {
    app.addSchema({ $id: 'shop', definitions: { price, old: { $ref: '#/definitions/price' } } })
    const media = { content: { 'application/json': { schema: object({ price: { $ref: 'shop#/definitions/old' } }, { additionalProperties: false }) } } }
    const any = { content: { '*/*': { schema: object({ id: { type: 'string' } }) } } }
    app.post('/', { schema: { body: media, response: { default: any } } }, async () => ({ id: 1, x: 2 }))
  })
  const stored = await profileOf(app, await app.inject({ method: 'POST', url: '/', payload: { price: { 'in/EUR': '1' }, a: 1 } }))
  t.same(changesOf(stored), [
    {
      part: 'body',
      text: 'body.price.in/EUR: "1" became 1 (type: number)',
      field: 'body.price.in/EUR',
      before: '"1"',
      after: '1',
      rule: 'type: number',
      schema: 'shop#/definitions/price/properties/in/EUR/type'
    },
    {
      part: 'body',
      text: 'body.a was removed (additionalProperties: false)',
      field: 'body.a',
      before: '1',
      rule: 'additionalProperties: false',
      schema: 'body/content/application/json/schema/additionalProperties'
    },
    {
      part: 'response',
      text: 'response.id: 1 became "1" (type: string)',
      field: 'response.id',
      before: '1',
      after: '"1"',
      rule: 'type: string',
      schema: 'response/default/content/*/*/schema/properties/id/type'
    },
    {
      part: 'response',
      text: 'response.x was removed (not in the schema of response default)',
      field: 'response.x',
      before: '2',
      rule: 'not in the schema of response default',
      schema: 'response/default/content/*/*/schema/properties'
    }
  ])
})

/** What an ordinary route may receive and return without a change. */
const ORDINARY: ReadonlyArray<readonly [name: string, options: RouteShorthandOptions, payload: InjectOptions['payload'], answer: unknown]> = [
  ['nothing', {}, undefined, undefined],
  ['null', {}, undefined, null],
  ['a text', {}, undefined, 'text'],
  ['a number', {}, undefined, 5],
  ['a buffer', {}, undefined, Buffer.from('{"a":1}')],
  ['JSON as text', {}, undefined, '{"a":1}'],
  ['objects and lists', {}, { a: '5' }, { a: [1, 'b', null, true, -0, 1e21, [], {}], b: { c: '\u2028 \ud83d\ude00' } }],
  ['an empty object', response(object({})), {}, {}],
  ['an instance', response(object({ id: { type: 'integer' }, email: { type: 'string' } })), undefined, new User(1)],
  ['a getter of a class', response(object({ full: { type: 'string' } })), undefined, new class { get full (): string { return 'x' } }()],
  ['a matching schema', {
    schema: {
      body: object({ n: { type: 'number' }, s: { type: 'string', nullable: true } }),
      response: { '2xx': object({ list: { type: 'array', items: { type: 'number' } } }) }
    }
  }, { n: 1, s: null }, { list: [1, 2.5] }],
  ['further properties', response(object({ id: { type: 'integer' } }, { additionalProperties: true })), undefined, { id: 1, other: { a: [1] } }],
  ['typed further properties', response(object({}, { additionalProperties: { type: 'number' } })), undefined, { a: 1, b: 2 }],
  ['properties by pattern', response(object({}, { patternProperties: { '^x-': { type: 'number' } } })), undefined, { 'x-a': 1 }],
  ['another status', { schema: { response: { 201: object({ id: { type: 'integer' } }) } } }, undefined, { name: 'a' }],
  ['a schema of any value', { schema: { response: { 200: {} } } }, undefined, { a: { b: 1 } }]
]

inBothProducts('no change is invented for ordinary routes', async (t, build) => {
  const app = await build((app) => {
    for (const [i, [, options, , answer]] of ORDINARY.entries()) app.post(`/${i}`, options, async (_, reply) => reply.send(answer))
  })
  for (const [i, [name, , payload]] of ORDINARY.entries()) {
    const answered = await app.inject({ method: 'POST', url: `/${i}?page=2`, ...payload !== undefined && { payload } })
    t.equal(answered.statusCode, 200, name)
    const { collectors } = await profileOf(app, answered)
    t.notOk('wire' in collectors, name)
    t.notOk('sentBody' in (collectors.request as object), name)
  }
})

inBothProducts('nothing is said where hooks, serializers or objects of the application decide', async (t, build) => {
  const calls: string[] = []
  const schema = { response: { 200: object({ id: { type: 'integer' }, data: object({}) }) } }
  const watched = { get a () { calls.push('getter'); return undefined }, b: new Proxy({ c: undefined }, { ownKeys: () => { calls.push('proxy'); return [] } }) }
  const own = { toJSON () { calls.push('toJSON'); return { x: 1 } }, y: undefined }
  const routes: Array<[name: string, options: RouteShorthandOptions, answer: unknown]> = [
    ['an envelope of a hook of the route', { schema, preSerialization: async (_request, _reply, data) => ({ data }) }, { id: '1', email: 'a' }],
    ['an envelope of a serializer', { schema, serializerCompiler: () => (data: unknown) => JSON.stringify({ data }) }, { id: 1, email: 'a' }],
    ['other names of a serializer', { serializerCompiler: () => () => '{"ID":1}', schema }, { id: '1', at: undefined }],
    ['text of a serializer', { serializerCompiler: () => () => '<id>1</id>', schema }, { id: '1' }],
    ['objects that are not read', {}, { watched, own }]
  ]
  const app = await build((app) => {
    for (const [i, [, options, answer]] of routes.entries()) app.get(`/${i}`, options, async () => answer)
  })
  for (const [i, [name]] of routes.entries()) {
    calls.length = 0
    const answered = await app.inject(`/${i}`)
    t.equal(answered.statusCode, 200, name)
    t.same(textsOf(await profileOf(app, answered)), [], name)
  }
  t.same(calls, ['getter', 'proxy', 'toJSON'], 'called by the serialization only')
})

inBothProducts('changes by hooks of the application are not those of a schema', async (t, build) => {
  const numbers = object({ a: { type: 'integer' }, b: { type: 'integer' } })
  const schema = { body: numbers, response: { 200: numbers } }
  const app = await build((app) => {
    app.addHook('preValidation', async (request) => { Object.assign(request.body as object, { a: 5, added: 'before' }) })
    app.addHook('preHandler', async (request) => { Object.assign(request.body as object, { later: 1 }) })
    app.addHook('preSerialization', async (_request, _reply, payload) => ({ ...payload as object, a: 7, secret: 1 }))
    app.addHook('onSend', async (_request, _reply, payload) => String(payload).replace('7', '8'))
    app.post('/', { schema }, async () => ({ a: '6', b: '6' }))
  })
  const answered = await app.inject({ method: 'POST', url: '/', payload: { a: '5', b: '5' } })
  t.same(answered.json(), { a: 8, b: 6 })
  const stored = await profileOf(app, answered)
  t.same(textsOf(stored), [
    'body.b: "5" became 5 (type: integer)', 'response.b: "6" became 6 (type: integer)', 'response.secret was removed (not in the schema of response 200)'
  ])
  t.match(stored.collectors.request, { body: { a: 5, b: 5, added: 'before' }, sentBody: { a: '5', b: '5' } }, 'the body that the client sent is kept')
})

inBothProducts('what is stored is bounded and masked', async (t, build) => {
  const names = Array.from({ length: 300 }, (_, i) => `n${i}\u0000${'x'.repeat(300)}`)
  const app = await build((app) => {
    app.post('/', { schema: { body: object(Object.fromEntries(names.map((name) => [name, { type: 'integer' }]))) }, bodyLimit: 1e7 }, async () => ({}))
    app.post('/pairs', { schema: { body: object({ fields: { type: 'array', items: object({ value: { type: 'integer' } }) } }) } }, async () => ({}))
    app.get<{ Params: { token: string } }>('/users/:token', { schema: { response: { 200: object({ link: { type: 'string' } }) } } },
      async ({ params }) => ({ link: 1, [params.token]: 2 }))
  })
  const large = await profileOf(app, await app.inject({ method: 'POST', url: '/', payload: Object.fromEntries(names.map((name) => [name, '5'])) }))
  t.equal(changesOf(large).length, 50)
  t.ok(JSON.stringify(large.collectors.wire).length < 64 * 1024)
  t.notMatch(JSON.stringify(textsOf(large)), '\\u0000')
  const pairs = await profileOf(app, await app.inject({ method: 'POST', url: '/pairs', payload: { fields: [{ name: 'password', value: '123456' }] } }))
  t.same(textsOf(pairs), ['body.fields[0].value: "******" became "******" (type: integer)'])
  const token = 'abcdef0123456789abcdef'
  const named = await profileOf(app, await app.inject(`/users/${token}`))
  t.equal(changesOf(named).length, 2)
  t.notMatch(JSON.stringify(named), token)
})
