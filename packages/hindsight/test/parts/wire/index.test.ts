import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import type { FastifyInstance } from 'fastify'
import { PROFILE_SCHEMA } from '../../../../../docs/scripts/profile.js'
import { overview } from '../../../src/parts/overview/index.js'
import { request as requestPart } from '../../../src/parts/request/index.js'
import { wire } from '../../../src/parts/wire/index.js'
import { writeAs } from '../../../src/reading/formats/formats.js'
import { profileMarkdown } from '../../support/marks.js'
import { replayRequest } from '../../../src/reading/replay/replay.js'
import { storedRequest } from '../../../src/reading/replay/stored-request.js'
import { profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'
import { shown, texts } from '../support.js'

const orders = {
  schema: {
    body: { type: 'object', properties: { qty: { type: 'integer' }, size: { default: 'M' }, password: { type: 'integer' } }, additionalProperties: false },
    querystring: { type: 'object', properties: { page: { type: 'integer' }, limit: { default: 20 } } },
    headers: { type: 'object', properties: { 'x-depth': { type: 'integer' }, 'x-default': { default: 'yes' } } },
    response: { 200: { type: 'object', properties: { id: { type: 'integer' } } } }
  }
}
const sent = { method: 'POST', url: '/orders?page=2', headers: { 'x-depth': '3' }, payload: { qty: '5', 'a<b>`c`': 1, password: '123456' } } as const

function declare (app: FastifyInstance): void {
  app.post('/orders', orders, async () => ({ id: '7', email: 'ada@example.com' }))
}

inBothProducts('the panel has both directions, and the overview one sentence', async (t, build) => {
  const app = await build(declare)
  const stored = await profileOf(app, await app.inject(sent))
  const panel = shown(wire, stored)
  t.same(texts(panel, 'h3'), ['The handler did not receive what the client sent', 'The client did not receive what the handler returned'])
  const rows = [...panel.querySelectorAll('tbody tr')].map((row) => texts(row, 'th, td'))
  t.same(rows, [
    ['body.qty', '"5"', '5', 'type: integer body/properties/qty/type'],
    ['body.a<b>`c`', '1', 'removed', 'additionalProperties: false body/additionalProperties'],
    ['body.password', '"******"', '"******"', 'type: integer body/properties/password/type'],
    ['body.size', 'absent', '"M"', 'default body/properties/size/default'],
    ['query.page', '"2"', '2', 'type: integer querystring/properties/page/type'],
    ['query.limit', 'absent', '20', 'default querystring/properties/limit/default'],
    ['headers.x-depth', '"3"', '3', 'type: integer headers/properties/x-depth/type'],
    ['headers.x-default', 'absent', '"yes"', 'default headers/properties/x-default/default'],
    ['response.id', '"7"', '7', 'type: integer response/200/properties/id/type'],
    ['response.email', '"ada@example.com"', 'removed', 'not in the schema of response 200 response/200/properties']
  ])
  const fact = [...shown(overview, stored).querySelectorAll('dt')].find(({ textContent }) => textContent === 'Changed values')?.nextElementSibling
  t.equal(fact?.textContent, 'body.qty: "5" became 5 (type: integer) and 9 more changes')
  t.equal(fact?.querySelector('a')?.getAttribute('href'), '?panel=wire')
  const section = profileMarkdown(stored).split('\n## ').find((text) => text.startsWith('Changed values'))
  t.match(section, '```text\nbody.qty: "5" became 5 (type: integer), schema body/properties/qty/type\nbody.a<b>`c` was removed')
  const body = shown(requestPart, stored).querySelector('.note + pre')
  t.equal(body?.textContent, '{\n  "qty": "5" → 5,\n  "a<b>`c`": 1,\n  "password": "******",\n  "size": "M"\n}')
  t.same([texts(body as Element, 'del'), texts(body as Element, 'ins')], [['"5"', '1'], ['5', '"M"']])
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(JSON.parse(readFileSync(PROFILE_SCHEMA, 'utf8')) as object)
  t.ok(validate(JSON.parse(JSON.stringify(stored))), JSON.stringify(validate.errors))
})

inBothProducts('formats, Markdown and replays have what the client sent', async (t, build) => {
  const received: unknown[] = []
  const app = await build((app) => {
    app.addHook('preValidation', async ({ body }) => {
      received.push(structuredClone(body))
      Object.assign(body as object, { qty: '6' })
    })
    app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, async (_request: unknown, text: string) =>
      Object.fromEntries(new URLSearchParams(text)))
    declare(app)
    app.post('/fails', { schema: { body: { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } } } } }, async () => ({}))
  })
  const { payload } = sent
  const stored = await profileOf(app, await app.inject(sent))
  t.match(stored.collectors.request, {
    body: { qty: 6, size: 'M' }, sentBody: { ...payload, password: '******' }, headers: { 'x-depth': '3' }, query: { page: '2' }
  })
  t.notMatch(JSON.stringify((stored.collectors.request as { query: object }).query), 'limit')
  const text = '{"qty":"5","a<b>`c`":1,"password":"'
  for (const format of ['curl', 'test']) {
    const written = writeAs(format, stored).text
    t.match(written.replaceAll('\\"', '"').replaceAll('\\`', '`').replaceAll('\\u003c', '<'), format === 'test' ? /qty/ : text, format)
    t.notMatch(written, /x-default|"M"|size/, format)
  }
  const markdown = profileMarkdown(stored, null, app.hindsight.parts)
  const block = /## Request[^]*?\n(\{.*\})\n/.exec(markdown)?.[1] ?? ''
  t.same(JSON.parse(block), { ...payload, password: '******' })
  const again = await replayRequest(app, storedRequest(stored, ({ name }) => name === 'body.password' ? '123456' : undefined))
  t.same([again.status, received], [200, [payload, payload]], 'the replay sent the same body')

  const form = await profileOf(app, await app.inject({
    method: 'POST', url: '/orders', headers: { 'content-type': 'application/x-www-form-urlencoded' }, payload: 'qty=6&extra=1'
  }))
  t.match(writeAs('curl', form).text, "--data-raw 'qty=6&extra=1'")
  const failed = await profileOf(app, await app.inject({ method: 'POST', url: '/fails', payload: { a: '1', b: 'x' } }))
  t.match([failed.status, writeAs('curl', failed).text], [400, '--data-raw \'{"a":"1","b":"x"}\''], 'validation had converted the first field')
})
