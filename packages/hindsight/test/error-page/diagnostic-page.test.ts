import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify'
import { JSDOM } from 'jsdom'
import { createServer } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { pluginOf } from '../support/products.js'
import { AccessDeniedError } from '../../../../lib/security/errors.js'
import type { FailureProfile } from '../../src/error-page/failure-profile.js'
import { outcomeSentence } from '../../src/parts/overview/index.js'
import { build as buildFull, profileOf } from '../support/app.js'
import { testdir } from '../support/folder.js'
import { inBothProducts } from '../support/products.js'
import { renderFailure } from '../../src/error-page/render-failure.js'
import { record, requested, sampleFailure } from '../errors/sample.js'
import { parseHtml } from '../support/parse-html.js'
import type { RejectedInput } from '../../src/errors/exception.js'
import type { FailureSummary } from '../../src/errors/failure-summary.js'
import { codeSpan } from '../../src/view/text.js'
import { withoutMarks } from '../support/marks.js'

const HERE = 'packages/hindsight/test/error-page/diagnostic-page\\.test\\.ts'
const HTML = { accept: 'text/html' }

/** The answer to a client that prefers JSON. */
type FailureDocument = FailureProfile & FailureSummary & { input?: RejectedInput, controller?: string, profile?: { token: string } }

async function page (app: FastifyInstance, request: InjectOptions): Promise<Document> {
  const { body } = await app.inject({ ...request, headers: { ...HTML, ...request.headers } })
  return parseHtml(body)
}

async function report (app: FastifyInstance, request: InjectOptions): Promise<FailureDocument> {
  return (await app.inject({ ...request, headers: { ...request.headers, accept: 'application/json' } })).json()
}

function texts (document: Document, selector: string): string[] {
  return [...document.querySelectorAll(selector)].map((element) => (element.textContent ?? '').replace(/\s+/g, ' ').trim())
}

/** A port on which nothing listens. */
async function closedPort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function getInvoice (): Promise<Buffer> {
  return await new Promise(
    (_resolve, reject) => setImmediate(reject, Object.assign(new Error('ENOENT: no such file'), { stack: 'Error: ENOENT: no such file' }))
  )
}

inBothProducts('the root cause comes first, then the chain', async (t, build, product) => {
  const app = await build((app) => app.get('/orders/:id', async () => {
    try {
      JSON.parse('{').total()
    } catch (cause) {
      throw new Error('The invoice cannot be shown', { cause })
    }
  }))
  const document = await page(app, { url: '/orders/7' })
  t.match(texts(document, 'h1'), [/JSON/])
  t.same(texts(document, '.cause'), ['SyntaxError'])
  t.match(texts(document, '.chain li'), [/^rethrown at .*\/error-page\/diagnostic-page\.test\.ts:\d+:\d+ as Error: The invoice cannot be shown$/])
  t.match(texts(document, '.where mark .source'), ["JSON.parse('{').total()"])
  t.match(texts(document, '.what'), [
    new RegExp(`^The handler of GET /orders/:id \\(${HERE}:\\d+\\) failed with Error\\.$`)
  ])
  t.equal(
    document.querySelector('[data-fragment]')?.getAttribute('data-fragment'),
    document.querySelector('.facts a[href*=_profiler]')?.getAttribute('href') + '/differences'
  )
  if (product === 'package') return
  const { body } = await app.inject({ url: '/orders/7', headers: { accept: 'text/markdown' } })
  t.match(body, /^# 500 [^\n]+\n\n> [^\n]+\n\n`[^\n]*JSON[^\n]*\n\n[^\n]+\n\n\*\*SyntaxError\*\*\n\n/)
  t.match(body, /\n- rethrown at `.*` as Error: The invoice[^]*In your code: [^]*## Exceptions/)
})

class DatabaseError extends Error {
  override name = 'error'
  code = '23505'
  detail = 'Key (email)=(ada@example.com) already exists.'
  table = 'customers'
  position = undefined
  connection = { password: 'hunter' + 2, port: 5432 }
}

inBothProducts('an error is shown with its class and its own properties, masked', async (t, build) => {
  const app = await build((app) => app.post('/customers', async () => {
    try {
      throw new DatabaseError('duplicate key value')
    } catch (cause) {
      throw new Error('The customer was not saved', { cause })
    }
  }))
  const document = await page(app, { method: 'POST', url: '/customers', payload: {} })
  t.equal(document.title, 'duplicate key value (500 Internal Server Error)', 'the root cause, as in the heading')
  t.same([texts(document, 'h1'), texts(document, '.cause')], [['duplicate key value'], ['DatabaseError code 23505']])
  const fields = ['detail Key (email)=(ada@example.com) already exists.', 'table customers', 'connection {"password":"******","port":5432}']
  t.same(texts(document, '.about .fields div'), fields)
  t.same(texts(document, '#exception-1 .fields div'), fields)
  t.match(document.querySelector('#as-markdown')?.textContent, '- detail: `Key (email)=(ada@example.com) already exists.`\n- table: `customers`\n')
  const { pathname } = new URL(document.querySelector('.facts a[href*=_profiler]')?.getAttribute('href') ?? '')
  const { exceptions, collectors } = (await app.inject({ url: pathname, headers: { accept: 'application/json' } })).json()
  t.match(exceptions[0], { name: 'DatabaseError', fields: { table: 'customers', connection: { password: '******' } } })
  t.notOk(JSON.stringify([exceptions, collectors]).includes('hunter' + 2))
  const [summary] = (await app.inject('/_profiler/search.json?limit=1')).json().profiles
  t.equal(summary.exception, 'DatabaseError: duplicate key value', 'the list')
  const { exception } = (await app.inject(pathname.replace('_profiler', '_wdt') + '.json')).json()
  t.equal(exception, 'DatabaseError: duplicate key value', 'the toolbar')
})

inBothProducts('the page has the headers that were sent, as the profile does: validation removes others', async (t, build) => {
  const properties = { accept: { type: 'string' }, 'x-size': { type: 'integer' } }
  const schema = { headers: { type: 'object', properties, additionalProperties: false } }
  const app = await build((app) => app.get('/', { schema }, async () => { throw new Error('x') }))
  const document = await page(app, { url: '/', headers: { 'x-size': '07', 'x-tenant': 'north' } })
  const rows = texts(document, '#request .card > dl > div')
  t.ok(rows.includes('x-size 07') && rows.includes('x-tenant north'), rows.join())
  const { pathname } = new URL(document.querySelector('.facts a[href*=_profiler]')?.getAttribute('href') ?? '')
  const { collectors } = (await app.inject({ url: pathname, headers: { accept: 'application/json' } })).json()
  t.match(collectors.request.headers, { 'x-size': '07', 'x-tenant': 'north' })
})

inBothProducts('a request whose Accept header was removed by a validator has the page', async (t, build) => {
  const schema = { headers: { type: 'object', properties: { 'x-size': { type: 'integer' } }, additionalProperties: false } }
  const app = await build((app) => app.get('/', { schema }, async () => { throw new Error('x') }))
  const document = await page(app, { url: '/', headers: { 'x-size': '07' } })
  t.match(document.querySelector('h1')?.textContent, /\bx\b/)
})

inBothProducts('the section of the request begins with what was requested', async (t, build) => {
  const app = await build((app) => app.post('/orders/:id', async () => { throw new Error('x') }))
  const headers = { 'sec-fetch-mode': 'navigate', 'accept-language': 'en', 'x-tenant': 'north' }
  const document = await page(app, { method: 'POST', url: '/orders/7?size=xl', payload: { item: 'lamp', password: 'hunter' + 2 }, headers })
  const rows = texts(document, '#request .card > dl > div')
  t.match(rows, [
    /^POST http.*\/orders\/7\?size=xl$/, 'Route POST /orders/:id', 'Parameter id 7', 'Query size xl',
    'x-tenant north', 'content-type application/json', 'content-length 36'
  ])
  t.equal(document.querySelector('#request pre')?.textContent, '{\n  "item": "lamp",\n  "password": "******"\n}')
  t.match(texts(document, '#request details'), [/^Client 127\.0\.0\.1, 5 headersaccept text\/html sec-fetch-mode navigate accept-language en/])
  t.match(document.querySelector('#as-markdown')?.textContent, /POST http.*\n[^`]*\n\n\{\n {2}"item": "lamp",/)
})

inBothProducts('the callers of an own frame are those of the application and its packages', async (t, build) => {
  const app = await build((app) => {
    app.addHook('preHandler', (_request, _reply, done) => { done() })
    app.get('/', () => { throw new Error('x') })
  })
  const document = await page(app, { url: '/' })
  const [stack = ''] = texts(document, '.trace pre')
  t.match(stack, /diagnostic-page\.test\.ts.*fastify\/lib\/handle-request\.js/)
  t.notMatch(stack, /\/lib\/recording\/|\/lib\/full\//)
  t.equal(texts(document, '.own .frame').length, 2, 'the handler, and the hook that has called back')
  t.match(texts(document, '.own .line'), ["app.addHook('preHandler', (_request, _reply, done) => { done() })"], 'with its line of source')
})

inBothProducts('a response that its schema refuses is explained with what the handler returned', async (t, build) => {
  const schema = { response: { 200: { type: 'object', required: ['id'], properties: { id: { type: 'integer' }, name: { type: 'string' } } } } }
  const app = await build((app) => app.get('/products', { schema }, async () => ({ name: 'Lamp' })))
  const document = await page(app, { url: '/products' })
  t.match(texts(document, '.what'), [
    new RegExp(`^The response of GET /products \\(${HERE}:\\d+\\) does not fit its schema\\.$`)
  ])
  t.match(texts(document, '.where mark .source'), [/app\.get\('\/products'/])
  t.same(texts(document, 'h1'), ['response schema 200 requires "id"; the handler returned {name}'])
  t.match((await app.hindsight.profiler.search({ limit: 1 })).profiles, [{ exception: /^Error: response schema 200 requires "id"/ }])
})

inBothProducts('the overview of a failure without a call of the application shows its route', async (t, build) => {
  const schema = { response: { 200: { type: 'object', required: ['id'], properties: { id: { type: 'integer' } } } } }
  const app = await build((app) => {
    app.get('/refused', { schema }, async () => ({ name: 'Lamp' }))
    app.get('/thrown', async () => { await Promise.reject('a text') }) // eslint-disable-line prefer-promise-reject-errors
    app.post('/typed', async () => 'x')
    app.get('/own', async () => { throw new Error('x') })
  })
  for (const [method, url, line] of [
    ['GET', '/refused', /app\.get\('\/refused'/], ['GET', '/thrown', /app\.get\('\/thrown'/], ['POST', '/typed', /app\.post\('\/typed'/],
    ['GET', '/own', /app\.get\('\/own'/]
  ] as const) {
    const headers = { accept: 'text/html', ...(method === 'POST' && { 'content-type': 'a/b' }) }
    const response = await app.inject({ method, url, headers, ...(method === 'POST' && { payload: 'x' }) })
    const { handler } = (await profileOf(app, response)).collectors.exceptions as { handler?: object }
    t.equal(handler === undefined, url === '/own', url)
    const { body } = await app.inject({ url: `/_profiler/${String(response.headers['x-debug-token'])}`, headers })
    t.match(textsOf(body, '.overview mark .source'), [line], url)
  }
})

inBothProducts('a request that is refused before its handler shows the declaration of the route', async (t, build) => {
  const app = await build((app) => {
    app.post(
      '/orders',
      async () => 'x'
    )
  })
  const document = await page(app, { method: 'POST', url: '/orders', payload: 'x', headers: { 'content-type': 'a/b' } })
  t.match(texts(document, '.where mark .source'), [/^app\.post\($/])
  t.match(texts(document, '.where h2'), [/^Route: /])
})

inBothProducts('a failed request to another server shows its reason and address', async (t, build) => {
  const port = await closedPort()
  const app = await build((app) => app.get('/stock', async () => await fetch(`http://127.0.0.1:${port}/stock`)))
  const document = await page(app, { url: '/stock' })
  t.same(texts(document, 'h1'), [`connect ECONNREFUSED 127.0.0.1:${port}`])
  t.same(texts(document, '.cause'), ['Error code ECONNREFUSED'])
  t.match(texts(document, '.where mark .source'), [/await fetch/], 'the line of the application')
})

inBothProducts('the error of a log line has all of its fields before its stack', async (t, build) => {
  const error = Object.assign(new Error('column "nam" does not exist'), {
    code: '42703', detail: 'the detail', hint: 'Perhaps you meant "users.name".', stack: `Error: column\n${'    at query (/app/db.js:1:1)\n'.repeat(200)}`
  })
  const app = await build((app) => app.get('/', async (request) => {
    request.log.error({ error, nested: [{ err: { stack: error.stack, hint: 'inner' } }] }, 'The query failed')
    throw error
  }))
  const fields = '"hint":"Perhaps you meant \\"users.name\\"."'
  const document = await page(app, { url: '/' })
  t.match(document.querySelector('#logs')?.textContent, /"hint": "Perhaps you meant \\"users\.name\\"\."/)
  const copied = document.querySelector('#as-markdown')?.textContent ?? ''
  const { pathname } = new URL(document.querySelector('.facts a[href*=_profiler]')?.getAttribute('href') ?? '')
  const markdown = withoutMarks((await app.inject({ url: `${pathname}.md` })).body)
  for (const text of [copied, markdown]) {
    const lines = text.split(/^## (?:Last log lines|Log)$/m)[1]?.split('\n').filter((line) => line.includes('ERROR')) ?? []
    t.equal(lines.length, 2)
    // The profile has the error of Fastify's own line as its exception.
    for (const line of lines.filter((line) => text === copied || !line.includes('[request]'))) t.match(line, fields)
  }
})

inBothProducts('the bytes that were received do not explain a body that a hook has decoded', async (t, build) => {
  const decode = async (_request: unknown, _reply: unknown, payload: AsyncIterable<Buffer>) => {
    const received = await buffer(payload)
    const decoded = Readable.from([Buffer.from(String(received), 'base64')])
    return Object.assign(decoded, { receivedEncodedLength: received.length })
  }
  const app = await build((app) => {
    app.post('/route', { preParsing: decode as never }, async () => 1)
    app.post('/plain', async () => 1)
    app.register(async (inner) => {
      inner.addHook('preParsing', decode as never)
      inner.post('/hook', async () => 1)
    })
  })
  for (const [url, expected] of [
    ['/route', /Body is not valid JSON/], ['/hook', /Body is not valid JSON/], ['/plain', "Invalid JSON in the body: Unexpected token 'e'"]
  ] as const) {
    const payload = Buffer.from('{"a": 1, b}').toString('base64')
    const document = await page(app, { method: 'POST', url, payload, headers: { 'content-type': 'application/json' } })
    t.match(texts(document, 'h1'), [expected], url)
  }
})

inBothProducts('the page has the hints of the parts, and of each subject one', async (t, build, product) => {
  const port = await closedPort()
  const queueHints = ({ length }: { length: number }) => [{ title: 'Queue', text: `Length ${length}.` }]
  const collectors = [{ name: 'queue', collect: () => ({ length: 7 }), hints: queueHints }]
  const app = await build((app) => app.get('/stock/:id', async (request) => {
    await fetch(`http://127.0.0.1:${port}/?token=s3cret`).catch(() => {})
    request.hindsight.capture(new Error('password=s3cret'))
    throw new Error('No stock')
  }), { profiler: { collectors } })
  const hints: Array<[title: string, text: string]> = [
    ['Failed calls to other servers', ''],
    ['Other errors', 'Error: password=******'],
    ['Queue', 'Length 7.']
  ]
  const document = await page(app, { url: '/stock/1' })
  t.same(texts(document, '.hint h2'), hints.map(([title]) => title))
  t.same(texts(document, '.hint p'), hints.flatMap(([, text]) => text === '' ? [] : text))
  t.match(texts(document, '.hint .routes li'), [
    new RegExp(`^GET http://127\\.0\\.0\\.1:${port}/\\?token=\\*{6} connect ECONNREFUSED 127\\.0\\.0\\.1:${port} ${HERE}:\\d+$`)
  ], 'with the line that sent it')
  t.match(document.querySelector('#as-markdown')?.textContent, '## Hint: Queue\n\nLength 7.\n\n')
  const { pathname } = new URL(document.querySelector('.facts a[href*=_profiler]')?.getAttribute('href') ?? '')
  const markdown = withoutMarks((await app.inject({ url: `${pathname}.md` })).body)
  t.same([...markdown.matchAll(/^## Hint\n\n(.*)$/gm)].map(([, title]) => title), hints.map(([title]) => title))
  const near = await page(app, { url: '/stoc/1' })
  t.equal(texts(near, '.hint h2').filter((title) => title.startsWith('Similar route')).length, 1, 'also a hint of the part `router`')
  const other = await page(app, { method: 'POST', url: '/stock/1' })
  t.equal(other.querySelectorAll('.hint .routes').length, 1)
  if (product === 'service') t.match((await report(app, { url: '/stock/1' })).hints, hints.map(([title, text]) => ({ title, text })))
})

inBothProducts('an AggregateError shows the common cause, or the number of each kind', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/one', async () => await Promise.any([1, 2, 3].map(async () => { throw Object.assign(new Error('no connection'), { code: 'ECONNREFUSED' }) })))
    app.get(
      '/wrapped', async () => await Promise.any([1, 2, 3].map(async () => { throw new Error('Supplier\nunavailable', { cause: new Error('no connection') }) }))
    )
    app.get('/many', async () => { throw new AggregateError([new TypeError('a'), new TypeError('a'), new RangeError('b')], 'The batch failed') })
  })
  const one = await page(app, { url: '/one' })
  t.same([texts(one, 'h1'), texts(one, '.cause')], [['no connection'], ['Error code ECONNREFUSED the common cause of 3 errors']])
  t.equal(one.querySelectorAll('#exceptions .excerpt, .where .excerpt').length, 1, 'the same source is shown once')
  t.notMatch(texts(one, '.members').join(), '\\n')
  t.notMatch(texts(one, '#logs pre').join(), '\\n', 'line breaks of stacks are line breaks')
  const { body } = await app.inject({ url: '/wrapped', headers: HTML })
  // Each link to a frame has the absolute path of the project: its length is not part of the size that is checked.
  const size = Buffer.byteLength(body.replaceAll(process.cwd(), ''))
  t.ok(size <= 59_000, `${size} bytes`)
  const wrapped = parseHtml(body)
  t.equal(wrapped.querySelectorAll('#exceptions details[open] .excerpt').length, 0, 'its source is above')
  t.ok(wrapped.querySelectorAll('.members .above').length >= 6)
  t.notMatch(texts(wrapped, '.members, #logs pre, #stack-traces pre').join(), '\\n')
  const many = await page(app, { url: '/many' })
  t.same([texts(many, 'h1'), texts(many, '.cause')], [['The batch failed'], ['AggregateError 2 × TypeError: a, RangeError: b']])
  if (product === 'service') t.match((await app.inject({ url: '/one', headers: { accept: 'text/markdown' } })).body.match(/^```ts$/gm), { length: 1 })
})

inBothProducts('an error without a frame of the application shows the declaration of the route', async (t, build) => {
  const app = await build((app) => {
    app.get('/invoice', getInvoice)
    // eslint-disable-next-line no-throw-literal
    app.get('/string', async () => { throw 'a string' })
  })
  const document = await page(app, { url: '/invoice' })
  t.match(texts(document, '.where h2'), [/^Route: packages\/hindsight\/test\/error-page\/diagnostic-page\.test\.ts:\d+ getInvoice$/])
  t.match(texts(document, '.where mark .source'), ["app.get('/invoice', getInvoice)"])
  const string = await page(app, { url: '/string' })
  t.same([texts(string, 'h1'), texts(string, '.cause')], [['a string'], ['Thrown string']])
  t.match(texts(string, '.where h2'), [/^Route: .*diagnostic-page\.test\.ts:\d+ the handler of GET \/string$/])
  t.match(texts(string, '.what'), [/ failed with a value that is no Error \(string\)\.$/])
})

inBothProducts('the card shows the fields that a schema refuses, masked', async (t, build, product) => {
  const app = await build((app) => app.post('/orders/:id', {
    schema: {
      params: { type: 'object', properties: { id: { type: 'integer' } } },
      body: {
        type: 'object',
        required: ['item'],
        properties: {
          quantity: { type: 'integer', minimum: 1 },
          user: { type: 'object', properties: { password: { type: 'string', minLength: 20 } } },
          color: { enum: ['red', 'green'] }
        }
      }
    }
  }, async () => 'x'))
  const document = await page(app, { method: 'POST', url: '/orders/7', payload: { item: 'x', quantity: 0 } })
  t.same(texts(document, '.hint td, .hint tbody th'), ['quantity', '0', 'must be >= 1'])
  t.match(texts(document, '.what'), [
    /^The schema of POST \/orders\/:id \(.*diagnostic-page\.test\.ts:\d+\) rejected the body; the handler did not run\.$/
  ])
  t.match(texts(document, '.where h2'), [/^Schema: .*diagnostic-page\.test\.ts:\d+ schema of body\.quantity$/])
  if (product === 'package') return
  const rejected = async (payload: object, url = '/orders/7') => (await report(app, { method: 'POST', url, payload })).input
  t.same(await rejected({ item: 'x', quantity: 0 }), { part: 'body', fields: [{ field: 'quantity', received: '0', rule: 'minimum', message: 'must be >= 1' }] })
  t.match(await rejected({}), { fields: [{ field: 'item', received: undefined, rule: 'required' }] })
  t.match(
    await rejected({ item: 'x', color: 'blue' }),
    { fields: [{ field: 'color', received: '"blue"', rule: 'enum', message: 'must be equal to one of the allowed values: "red", "green"' }] }
  )
  const secret = 'hunter' + 2
  t.match(
    await rejected({ item: 'x', user: { password: secret } }),
    { fields: [{ field: 'user.password', received: '"******"', message: 'must NOT have fewer than 20 characters' }] }, 'the length of a secret is not shown'
  )
  t.match(await rejected({}, '/orders/abc'), { part: 'params', fields: [{ field: 'id', received: '"abc"', rule: 'type', message: 'must be integer' }] })
  t.match((await rejected({ item: 'x', quantity: 'y'.repeat(5000) }))?.fields?.[0]?.received?.length, 200 + '… (4,802 more characters)'.length)
  const { body } = await app.inject({ method: 'POST', url: '/orders/7', payload: { item: 'x', quantity: 0 }, headers: { accept: 'text/markdown' } })
  t.match(body, '- `body.quantity`: received `0`: must be \\>= 1\n')
})

inBothProducts('the page, the profile, its overview and Markdown have the messages of a schema', async (t, build) => {
  const rules: Array<[rule: object, value: unknown, words: string]> = [
    [{ type: 'string', maxLength: 3 }, 'abcde😀', 'must NOT have more than 3 characters'],
    [{ type: 'string', minLength: 1 }, '', 'must NOT have fewer than 1 characters'],
    [{ type: 'array', maxItems: 1 }, [1, 2], 'must NOT have more than 1 items'],
    [{ type: 'object', minProperties: 1 }, {}, 'must NOT have fewer than 1 properties'],
    [{ type: 'number', exclusiveMinimum: 0 }, 0, 'must be > 0'],
    [{ type: 'number', multipleOf: 5 }, 7, 'must be multiple of 5'],
    [{ type: ['integer', 'null'] }, 'x', 'must be integer,null'],
    [{ type: 'object', additionalProperties: false, required: ['a'] }, {}, 'must have required property \'a\''],
    [{ const: 'x' }, 'y', 'must be equal to constant: "x"'],
    [{ type: 'string', format: 'email' }, 'x', 'must match format "email"'],
    [{ type: 'string', pattern: '^a' }, 'b', 'must match pattern "^a"'],
    [{ not: {} }, 'b', 'must NOT be valid']
  ]
  const app = await build((app) => {
    for (const [i, [rule]] of rules.entries()) {
      app.post(`/${i}`, { schema: { body: { type: 'object', required: ['field'], properties: { field: rule } } } }, async () => 'x')
    }
  })
  for (const [i, [rule, value, words]] of rules.entries()) {
    const response = await app.inject({ method: 'POST', url: `/${i}`, payload: { field: value }, headers: HTML })
    t.equal(textsOf(response.body, '.rejected td')[1], words)
    const message = 'const' in rule ? `body/field: ${words}, got "y"` : `body/field ${words}`
    t.equal(textsOf(response.body, 'h1').join(), message, 'the words of the validator, with what it does not say')
    if (i > 0) continue
    const headline = `body/field: ${words}, got "abcde😀"`
    t.match(textsOf(response.body, 'h1, title'), [`${message} (400 Bad Request)`, message])
    t.match(textsOf((await app.inject({ url: '/_profiler/', headers: HTML })).body, '.profiles .message p').at(-1), `Error: ${headline}`)
    const rows = ['field', '"abcde😀"', words]
    const { token, exceptions } = await profileOf(app, response)
    t.match(exceptions, [{ rejected: { part: 'body', fields: [{ field: 'field', rule: 'maxLength', message: words }] } }])
    for (const panel of ['exceptions', 'overview']) {
      const { body } = await app.inject({ url: `/_profiler/${token}?panel=${panel}`, headers: HTML })
      t.same(textsOf(body, '.rejected tbody :is(th, td)'), rows, panel)
    }
    const markdown = withoutMarks((await app.inject(`/_profiler/${token}.md`)).body)
    t.match(markdown, `${headline}`)
    t.match(markdown, `Error: ${headline}. The schema of `)
    t.match(markdown, `- \`body.field\`: received \`"abcde😀"\`: ${words}\n`)
  }
})

inBothProducts('the page says why a body is not JSON in the words of the parser, without the text that they quote', async (t, build, product) => {
  const app = await build((app) => app.post('/orders', async () => 'x'))
  const document = await page(app, { method: 'POST', url: '/orders', payload: '{"a": <b>}', headers: { 'content-type': 'application/json' } })
  t.same(texts(document, 'h1'), ["Invalid JSON in the body: Unexpected token '<'"])
  t.match(texts(document, '.what'), [/^The body is not valid JSON; the handler of POST \/orders \(.*\) did not run\.$/])
  t.match((await app.inject({ method: 'POST', url: '/orders', payload: { a: 1 } })).body, 'x', 'valid bodies arrive')
  if (product === 'package') return
  const why = async (payload: string) =>
    (await report(app, { method: 'POST', url: '/orders', payload, headers: { 'content-type': 'application/json' } })).input?.malformed
  t.match(await why('{"a": "x'), /^Unterminated string in JSON at position 8/)
  t.equal(await why(`{"password": hunter${22}}`), "Unexpected token 'h'")
  t.equal(await why('{"a":'), 'Unexpected end of JSON input')
  t.equal(await why(`{"a": "${'y'.repeat(70_000)}", }`), undefined, 'larger bodies are not kept')
  t.equal(await why('{"__proto__": 1}'), undefined, 'JSON that is refused for another reason')
})

inBothProducts('404 and 405 show the HTTP error and the routes with their places, and no source', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/orders/:id', async () => 'x')
    app.post('/orders', async () => 'x')
    app.get('/health/live', async () => 'x')
  })
  const missing = await page(app, { url: '/oders/7' })
  t.match(texts(missing, 'h1'), [/^No route found for "GET .*\/oders\/7"$/])
  const chain = ['[1/2]', 'root cause', '[2/2]', 'caused by ResourceNotFoundError']
  t.same(texts(missing, '#exceptions .position'), product === 'service' ? chain : [], 'with the package nothing was raised')
  t.equal(missing.querySelector('#stack-traces') === null, product === 'package')
  t.match(texts(missing, '.hint'), [
    /^Similar route/, /^Other routes GET \/health\/live .*diagnostic-page\.test\.ts:\d+GET \/_profiler\/routes /, /^Add a route/
  ])
  t.equal([...missing.querySelectorAll('.routes a')].at(-1)?.getAttribute('href'), '/_profiler/routes')
  t.same(texts(missing, '.where, .excerpt, [data-fragment]'), [])
  t.same(texts(missing, '.what'), [
    '3 routes are declared, and none matches. GET /orders/:id nearly matches: segment 1 is "orders", not "oders".'
  ])
  t.equal(missing.querySelector('.routes a')?.getAttribute('href'), '/orders/7')
  t.match(missing.querySelector('.routes a.file')?.getAttribute('href'), /^vscode:\/\/file\/.*diagnostic-page\.test\.ts:\d+:1$/)
  const method = await page(app, { method: 'PUT', url: '/orders/7' })
  t.match(texts(method, '.what'), ['The path has routes for GET, and none for PUT.'])
  t.match(texts(method, '.routes li'), [/^GET \/orders\/:id the method is GET, not PUT .*diagnostic-page\.test\.ts:\d+$/])
})

inBothProducts('after reply.callNotFound() the caller is named, with its place and source', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/orders/:id', (_request, reply) => { reply.callNotFound() })
    app.get('/later/:id', async (_request, reply) => {
      await null
      return reply.callNotFound()
    })
    app.get('/hook/:id', { onRequest: (_request, reply) => { reply.callNotFound() } }, async () => 'x')
    app.register(async (app) => {
      app.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: true }))
      app.get('/:id', (_request, reply) => { reply.callNotFound() })
      app.addHook('preHandler', async () => {})
    }, { prefix: '/own' })
    app.register(async (app) => { app.setNotFoundHandler(() => { throw new Error('not even this') }) }, { prefix: '/raises' })
    app.register(async (app) => {
      app.setNotFoundHandler((_request, reply) => reply.code(200).send('the page of the application'))
      app.get('/:id', (_request, reply) => { reply.callNotFound() })
    }, { prefix: '/fallback' })
  })
  for (const [path, caller] of [['/orders', 'its handler'], ['/later', 'its handler'], ['/hook', 'a hook'], ['/own', 'its handler']] as const) {
    const message = `GET ${path}/:id declined: ${caller} called reply.callNotFound()`
    const response = await app.inject({ url: `${path}/7`, headers: { accept: 'text/html' } })
    t.equal(response.statusCode, 404, path)
    if (path === '/own') {
      t.same(response.json(), { own: true })
    } else {
      t.same(textsOf(response.body, 'h1'), [message], path)
      t.same(textsOf(response.body, '.what'), [`GET ${path}/:id matched, and reply.callNotFound() was called.`])
      t.match(textsOf(response.body, '.where h2'), [/^In your code: .*diagnostic-page\.test\.ts:\d+:\d+/], path)
      t.match(textsOf(response.body, '.where .excerpt')[0], 'reply.callNotFound()', path)
    }
    const { token, exceptions, route } = await profileOf(app, response)
    t.match(exceptions, [{ name: 'NotFoundError', message, statusCode: 404 }], path)
    t.match(exceptions[0]?.frames.find(({ own }) => own)?.excerpt?.lines.join('\n'), 'reply.callNotFound()', path)
    t.equal(exceptions.length, 1)
    if (path !== '/hook') t.match(route?.handler, /diagnostic-page\.test\.ts:\d+$/)
    const markdown = (await app.inject(`/_profiler/${token}.md`)).body
    t.match(markdown, codeSpan(message))
    t.match(markdown, /> *\d+ \| .*reply\.callNotFound\(\)/)
  }
  const { profiles } = await app.hindsight.profiler.search({ limit: 9 })
  const callers = profiles.map(({ exception }) => exception?.replace(/GET.*declined: | called.*/g, ''))
  t.same(callers, ['NotFoundError: its handler', 'NotFoundError: a hook', 'NotFoundError: its handler', 'NotFoundError: its handler'])
  const failed = await profileOf(app, await app.inject('/raises/7'))
  t.match(failed.exceptions[0]?.frames.find(({ own }) => own)?.excerpt?.lines.join('\n'), 'not even this', 'an error of a not-found handler has its source')
  const fallback = await app.inject('/fallback/7')
  t.same((await profileOf(app, fallback)).exceptions, [], product)
})

inBothProducts('reply.callNotFound() has the page with asynchronous hooks, many hooks, and in an error handler', async (t, build, product) => {
  const app = await build((app) => {
    app.addHook('onSend', async (_request, _reply, payload) => { await null; return payload })
    for (let i = 0; i < 6; i++) app.addHook('preHandler', (_request, _reply, done) => { done() })
    // Without `return`, Fastify sends what the handler returns while the hooks of the page run.
    app.get('/nothing', async (_request, reply) => { reply.callNotFound() })
    app.get('/error', async (_request, reply) => { reply.send(new Error('sent')) })
    app.get('/handler', {
      errorHandler: (_error, _request, reply) => { reply.callNotFound() }
    }, async () => { throw new Error('gone') })
  })
  for (const [url, status, headline, source] of [
    ['/nothing', 404, 'GET /nothing declined: its handler called reply.callNotFound()', 'reply.callNotFound()'],
    ['/error', 500, 'sent', "reply.send(new Error('sent'))"],
    ['/handler', 404, product === 'service' ? 'GET /handler declined: an error handler called reply.callNotFound()' : 'gone', /callNotFound|gone/]
  ] as const) {
    const response = await app.inject({ url, headers: HTML })
    t.equal(response.statusCode, status)
    t.same(textsOf(response.body, 'h1'), [headline], url)
    t.match(textsOf(response.body, '.where mark .source'), [source], url)
    if (url === '/handler') t.same(textsOf(response.body, '.what'), ['GET /handler matched, and reply.callNotFound() was called.'])
  }
})

t.test('a refusal shows the rule and the votes', async (t) => {
  const security = { firewalls: [{ name: 'main', pattern: '/' }] }
  const app = await buildFull(t, { security } as never, (app) => app.get('/reports', { config: { isGranted: 'ROLE_ADMIN' } }, async () => 'x'))
  const document = await page(app, { url: '/reports' })
  t.match(texts(document, '.hint p'), [/ROLE_ADMIN.* config\.isGranted of the route GET \/reports/])
  t.match(texts(document, '.what'), [/^The listener is-granted of kernel\.controller_arguments raised \w+; the handler of GET \/reports \(.*\) did not run\.$/])
})

t.test('a refusal by a voter says who may not do what, why, and where that is declared', async (t) => {
  class Article {
    id
    constructor (id: string) { this.id = id }
  }
  const voter = { name: 'article', supports: (attribute: string) => attribute === 'DELETE', vote: () => ({ granted: false, reason: 'the author is grace' }) }
  const security = {
    voters: [voter],
    providers: { people: { users: [{ identifier: 'ada', roles: ['ROLE_USER'] }] } },
    firewalls: [{ name: 'main', pattern: '/', authenticators: { bearer: { verify: () => 'ada' } } }]
  }
  const app = await buildFull(t, { security } as never, (app) => {
    const subject = (request: { params: unknown }) => new Article((request.params as { id: string }).id)
    app.delete('/articles/:id', { config: { isGranted: { attribute: 'DELETE', subject } } } as never, async () => 'x')
    app.delete<{ Params: { id: string } }>('/own/:id', async (request) => {
      if (!await request.isGranted('DELETE', new Article(request.params.id))) throw new AccessDeniedError('Not yours')
    })
  })
  const headers = { authorization: 'Bearer x' }
  const sentence = 'ada may not DELETE Article 2: voter article: the author is grace'
  const response = await app.inject({ method: 'DELETE', url: '/articles/2', headers: { ...headers, ...HTML } })
  const { document } = new JSDOM(response.body).window
  t.same(texts(document, 'h1'), [sentence])
  const { token, exceptions } = await profileOf(app, response)
  t.match(exceptions, [{ message: 'Access Denied.', fields: { denied: sentence } }])
  t.match((await app.inject({ url: `/_profiler/${token}.md`, headers })).body, codeSpan(sentence))
  t.match((await app.hindsight.profiler.search({ limit: 1 })).profiles, [{ exception: `AccessDeniedError: ${sentence}` }])
  t.match(texts(document, '.hint p'), [new RegExp(`^${sentence} \\(${HERE}:\\d+\\), and ada is logged in with ROLE_USER: the option config\\.isGranted`)])
  const own = await page(app, { method: 'DELETE', url: '/own/2', headers })
  t.same(texts(own, 'h1'), ['Not yours'], 'an error of the application')
  t.match(texts(own, '.hint p'), [new RegExp(`^${sentence} \\(${HERE}:\\d+\\), and ada is logged in`)])
})

t.test('notifications of listeners are hidden until their box is checked', async (t) => {
  const app = await buildFull(t, {}, (app) => app.get('/', async (request) => {
    request.log.warn('a warning')
    throw new Error('x')
  }))
  const document = await page(app, { url: '/' })
  t.ok(document.querySelectorAll('#logs tr.event').length > 5)
  t.equal(document.querySelector('#logs [name=event]')?.hasAttribute('checked'), false)
  const lines = document.querySelectorAll('#logs tbody tr:not(.event)').length
  t.match(texts(document, '#logs h2'), [new RegExp(`^Logs ${lines} `)])
  t.match(document.querySelector('style')?.textContent, '#logs:not(:has([name=event]:checked)) .event { display: none }')
  const { body } = await app.inject({ url: '/', headers: { accept: 'text/markdown' } })
  t.notMatch(body, 'Notified event')
})

inBothProducts('links open the default editor in debug mode', async (t, build) => {
  const declare = (app: FastifyInstance): unknown => app.get('/', async () => { throw new Error('x') })
  const document = await page(await build(declare, { editor: undefined } as object), { url: '/' })
  t.match(document.querySelector('.where .file')?.getAttribute('href'), /^vscode:/)
  const none = await page(await build(declare, { editor: '' }), { url: '/' })
  t.equal(none.querySelector('a.file'), null)
})

inBothProducts('the card shows the place of a syntax error that Node.js or a compiler names', async (t, build) => {
  const folder = testdir(t, {
    'broken.cjs': 'const a = 1\nfunction broken ( {\n  return 2\n}\n',
    'linked.mjs': 'export const a = 1\nexport { nothing } from "node:fs"\n'
  })
  const app = await build((app) => {
    app.get('/cjs', async () => { await import(`${folder}/broken.cjs`) })
    app.get('/loaded', async () => { throw new Error(`Parse error ${folder}/broken.cjs:2:9`) })
    app.get('/linked', async () => { await import(`${folder}/linked.mjs`) })
    app.get(
      '/compiled',
      async () => { throw Object.assign(new Error(`Transform failed with 1 error:\n${folder}/broken.cjs:3:9: ERROR: Expected "}"`), { stack: '' }) }
    )
  })
  for (const [url, file, line, column] of [
    ['/cjs', 'broken.cjs', 3, 0], ['/compiled', 'broken.cjs', 3, 10], ['/loaded', 'broken.cjs', 2, 9], ['/linked', 'linked.mjs', 2, 0]
  ] as const) {
    const { exceptions } = await profileOf(app, await app.inject(url))
    t.match(exceptions[0]?.frames[0], { file: `${folder}/${file}`, line, column, function: '(syntax)', own: true }, url)
    t.match(texts(await page(app, { url }), '.where h2')[0], new RegExp(`^In your code: .*${file}:\\d.* \\(syntax\\)$`))
  }
})

inBothProducts('the header and the log line name a file of the application, or no file', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/invoice', getInvoice)
    app.get('/parsed', async () => JSON.parse('{'))
    app.get('/reported', async () => { throw Object.assign(new Error('reported', { cause: new Error('x') }), { stack: 'Error: reported' }) })
    app.post('/orders', { schema: { body: { type: 'object', required: ['item'] } } }, async () => 'x')
  })
  const own = /diagnostic-page\.test\.ts:\d+$/
  for (const [method, url, expected] of [
    ['GET', '/invoice', own], ['GET', '/parsed', own], ['GET', '/reported', own], ['POST', '/orders', own], ['GET', '/nowhere', undefined]
  ] as const) {
    const { headers } = await app.inject({ method, url, headers: HTML, ...(method === 'POST' && { payload: {} }) })
    if (product === 'package') {
      t.notOk('x-debug-exception-file' in headers)
      continue
    }
    t.match(headers['x-debug-exception-file'], expected as never, url)
    const { logs } = await report(app, { method, url, ...(method === 'POST' && { payload: {} }) })
    const line = logs.find(({ message }) => message.startsWith('Uncaught '))?.message
    t.match(line, expected ?? /^Uncaught NotFoundError: "No route found for ".*"" *$/, url)
  }
})

function textsOf (body: string, selector: string): string[] {
  return [...parseHtml(body).querySelectorAll(selector)].map((element) => (element.textContent ?? '').replace(/\s+/g, ' ').trim())
}

inBothProducts('the page names the handler or hook that raised the error', async (t, build, product) => {
  const app = await build((app) => {
    app.get('/handler', async () => { throw new Error('x') })
    app.get('/hook', { preValidation: async () => { throw new Error('x') } }, async () => 'x')
    app.get('/guarded', { preHandler: async () => { throw new Error('x') } }, async () => 'x')
    app.get('/late', { onSend: async () => { throw new Error('x') } }, async () => 'x')
    app.get('/serialized', { preSerialization: async () => { throw new Error('x') } }, async () => ({}))
    app.get('/answered', {
      errorHandler: (error, _request, reply) => reply.code(500).send({ statusCode: 500, error: 'Internal Server Error', message: error.message })
    }, async () => { throw new Error('x') })
    app.get('/answered/badly', { errorHandler: () => { throw new TypeError('y') } }, async () => { throw new Error('x') })
    app.get('/sent', (_request, reply) => { reply.send(new Error('x')) })
    app.get('/sent/later', (_request, reply) => { setTimeout(() => { reply.send(new Error('x')) }, 1) })
    app.get('/sent/by-itself', (_request, reply) => { setTimeout(reply.send.bind(reply), 1, new Error('x')) })
    app.get('/sent/awaited', async (_request, reply) => { await null; return reply.send(new Error('x')) })
    app.get('/sent/in-a-hook', { preValidation: async (_request, reply) => reply.send(new Error('x')) }, async () => 'x')
    app.get('/instrumented', {
      onRequest: (_request, reply, done) => {
        const { send } = reply
        reply.send = function traced (payload) { return send.call(this, payload) }
        done()
      }
    }, async () => { throw new Error('x') })
    app.get('/returned', () => new Error('x'))
    app.get('/thrown', { onRequest: (_request, _reply, done) => { done() } }, () => { throw new Error('x') })
    app.get('/rejected', (_request, reply) => { Promise.reject(new Error('x')).catch((error) => { reply.send(error) }) })
    app.post('/body', async () => 'x')
  })
  for (const [method, url, sentence] of [
    ['GET', '/sent', /^GET \/sent \(.*\) sent an error: Error\.$/],
    ['GET', '/sent/later', /^GET \/sent\/later \(.*\) sent an error: Error\.$/],
    ['GET', '/sent/by-itself', /^GET \/sent\/by-itself \(.*\) sent an error: Error\.$/],
    ['GET', '/sent/awaited', /^GET \/sent\/awaited \(.*\) sent an error: Error\.$/],
    ['GET', '/sent/in-a-hook', /^GET \/sent\/in-a-hook sent an error: Error; the handler of .* did not run\.$/],
    ['GET', '/rejected', /^GET \/rejected \(.*\) sent an error: Error\.$/],
    ['GET', '/instrumented', /^The handler of GET \/instrumented \(.*\) failed with Error\.$/],
    ['GET', '/returned', /^The handler of GET \/returned \(.*\) failed with Error\.$/],
    ['GET', '/thrown', /^The handler of GET \/thrown \(.*\) failed with Error\.$/],
    ['GET', '/handler', /^The handler of GET \/handler \(.*\) failed with Error\.$/],
    ['GET', '/hook', /^GET \/hook failed with Error.*; the handler of GET \/hook \(.*\) did not run\.$/],
    ['GET', '/guarded', /^GET \/guarded failed with Error\.$/],
    ['GET', '/late', /^After the handler of GET \/late \(.*\) had returned or sent its response, the request failed with Error\.$/],
    ['GET', '/serialized', /^After the handler of GET \/serialized \(.*\) had returned or sent its response, the request failed with Error\.$/],
    ['GET', '/answered', /^The handler of GET \/answered \(.*\) failed with Error\.$/],
    ['GET', '/answered/badly', /^The answer to an earlier failure of GET \/answered\/badly \(Error: x\) failed with TypeError\.$/],
    ['POST', '/body', /^The body is not valid JSON; the handler of POST \/body \(.*\) did not run\.$/],
    ['GET', '/nowhere', /^\d+ routes are declared, and none matches\.$/]
  ] as const) {
    const response = await app.inject({
      method,
      url,
      headers: { accept: 'text/html', ...(method === 'POST' && { 'content-type': 'application/json' }) },
      ...(method === 'POST' && { payload: '{' })
    })
    const { body } = response
    // There the hook fails again for the answer.
    const stored = product === 'package' && url === '/late' ? /failed with Error, and again for the response about that\.$/ : sentence
    t.match(outcomeSentence(await profileOf(app, response)), new RegExp(stored.source.replace('^', ' ')), `${url}, later`)
    // A body of the application's error handler is replaced by the package, where it equals Fastify's. A hook of a
    // route that fails again prevents the page there.
    if (url === (product === 'service' ? '/answered' : '/late')) t.match(body, '"message":"x"')
    else t.match(textsOf(body, '.what'), [sentence], url)
  }
})

inBothProducts('the page has its policy, place, editor link and profile, no secret, and less than 60 kB', async (t, build) => {
  const app = await build((app) => app.get('/', async (request) => {
    request.log.info({ password: 'hunter' + 2 }, 'before it failed')
    throw new Error('x', { cause: new TypeError('y') })
  }), { editor: 'vscode', editorPaths: { [import.meta.dirname]: '/home/me' } })
  const { body, headers } = await app.inject({ url: '/', headers: { accept: 'text/html', authorization: 'Bearer abcdef' + 123 } })
  const nonces = /^default-src 'none'; style-src 'nonce-([^']+)'; script-src 'nonce-([^']+)'; /.exec(String(headers['content-security-policy']))
  t.match(body, `<style nonce="${nonces?.[1]}">`)
  t.equal(body.split(`<script nonce="${nonces?.[2]}">`).length, 2)
  t.match(textsOf(body, '.where h2')[0], /^In your code: .*diagnostic-page\.test\.ts:\d+:\d+$/)
  t.match(body, /<a class="file" href="vscode:\/\/file\/home\/me\/diagnostic-page\.test\.ts:\d+:\d+">/)
  t.match(textsOf(body, '.band a code'), ['GET /', headers['x-debug-token']])
  t.notMatch(body, new RegExp(['hunter' + 2, 'abcdef' + 123].join('|')))
  t.match(textsOf(body, '#request dd'), ['http://localhost/'])
  t.ok(Buffer.byteLength(body) < 60_000, `${Buffer.byteLength(body)} bytes`)
})

inBothProducts('an editor with an unsafe URL stops the start', async (t, build) => {
  await t.rejects(build(undefined, { editor: 'javascript:alert(%f)' }), { message: /^Option "editor" \(EDITOR_URL\): the scheme "javascript:" is not allowed/ })
})

const HINT = { title: 'Add a route', text: 'Like this.', code: 'app.get()' }

function problemOf (changes: Partial<FailureProfile>): string {
  return renderFailure(sampleFailure(changes), 'json', { script: 'a', style: 'b' })
}

t.test('the problem document has the fields of RFC 9457 and the report', async (t) => {
  const document = JSON.parse(problemOf({ hints: [HINT] }))
  t.match(document, {
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    detail: 'No route found for "GET http://127.0.0.1:3000/robots.txt"',
    instance: '/robots.txt',
    exceptions: [{ name: 'RouteLookupError' }, { name: 'NotFoundError', statusCode: 404 }],
    hints: [HINT],
    raisedBy: { stage: 'kernel.request', listener: 'router' },
    profile: { token: '3fa94c' }
  })
  t.same(document.logs.map((line: { level: string }) => line.level), ['debug', 'error'])
})

t.test('odd values are serialized safely in the problem document', async (t) => {
  const circle: Record<string, unknown> = { big: 1n }
  circle.self = circle
  const body = problemOf(
    { logs: [record('info', '</script>', circle), record('info', 'next', { fn () {} })], ...requested('GET', '%', {}) }
  )
  t.notMatch(body, '<', 'no markup for content sniffing')
  const document = JSON.parse(body)
  t.match(document.logs, [{ message: '</script>', context: /Circular/ }, { context: { fn: '[Function: fn]' } }])
  t.equal(document.instance, undefined)
  t.equal(JSON.parse(problemOf({ logsOmitted: 500 })).logsOmitted, 500)
})

inBothProducts('the page is not cached, and says that its form depends on Accept', async (t, _build, product) => {
  const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(pluginOf(product), { debug: true, profiler: { storage: 'memory' } })
  const policy = { 'content-security-policy-report-only': "default-src 'none'; report-uri /reports" }
  const cacheable = {
    'cache-control': 'public, max-age=600',
    expires: 'Fri, 01 Jan 2027 00:00:00 GMT',
    'cdn-cache-control': 'max-age=600',
    vary: 'Origin',
    'x-accel-expires': '600',
    'akamai-cache-control': 'max-age=600',
    'edge-control': 'max-age=600'
  }
  const absent = {
    expires: undefined,
    'cdn-cache-control': undefined,
    'x-accel-expires': undefined,
    'akamai-cache-control': undefined,
    'edge-control': undefined
  }
  app.addHook('onRequest', async (_request, reply) => { reply.headers({ ...cacheable, ...policy }) })
  app.get('/boom', async () => { throw new Error('boom') })
  app.get('/own', async () => { throw Object.assign(new Error('boom'), { headers: { 'cache-control': 'public, max-age=60' } }) })
  for (const url of ['/boom', '/own', '/missing']) {
    const { headers, body } = await app.inject({ url, headers: { accept: 'text/html' } })
    t.match(body, /<!doctype html>/i)
    t.equal(headers['cache-control'], 'no-store', url)
    // Without a route, the service runs no hook of the application.
    t.equal(headers.vary, product === 'service' && url === '/missing' ? 'Accept' : 'Origin, Accept', url)
    t.match(headers, { ...absent, 'content-security-policy-report-only': undefined }, url)
    if (product === 'service') continue
    const json = await app.inject({ url, headers: { accept: 'application/json' } })
    t.match(json.headers, { ...cacheable, ...policy, 'cache-control': /^public, max-age=60/ }, 'what is not replaced is unchanged')
  }
  for (const url of ['/_profiler/', '/_profiler/latest', '/_profiler/latest.json', '/_profiler/000000', '/_wdt/000000']) {
    t.match((await app.inject(url)).headers, { ...absent, 'cache-control': 'no-store' }, url)
  }
  const { body } = await app.inject({ url: '/_profiler/', headers: { accept: 'text/html' } })
  const asset = await app.inject(/(?<=(?:href|src)=")[^"]*\/assets\/[^"]+/.exec(body)?.[0] ?? '')
  t.equal(asset.headers['cache-control'], 'private, max-age=31536000, immutable', 'stylesheets and scripts')
})
