import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import { executeCommand } from '../../src/cli/run.js'
import type { Coverage } from '../../src/reading/pages/coverage.js'
import { listen } from '../support/app.js'
import { allowInspection, hasInspection } from '../support/inspection.js'
import { parseHtml } from '../support/parse-html.js'
import { inBothProducts } from '../support/products.js'

allowInspection()

const html = { accept: 'text/html' }
const json = { accept: 'application/json' }

function rebate (id: number, coupon: string): number { // only the failure
  const coupons: Record<string, { off: number } | null> = { OLD: null, NEW: { off: 0.1 } }
  const found = coupons[coupon] as { off: number }
  return id * 10 * (1 - found.off)
}

function fullPrice (id: number): number { // only the success
  return Math.round(id * 10)
}

function price (id: number, coupon?: string): number {
  if (coupon !== undefined) return rebate(id, coupon)
  return fullPrice(id)
}

const declare = (app: FastifyInstance): void => {
  type Query = { coupon?: string }
  app.get('/price/:id', async ({ params, query }) => ({ price: price(Number((params as { id: string }).id), (query as Query).coupon) }))
  app.post('/price/:id', async ({ params, query }) => ({ price: price(Number((params as { id: string }).id), (query as Query).coupon) }))
  app.get('/alone', async () => { throw new Error('alone') })
}

async function failureOf (app: FastifyInstance, method: 'GET' | 'POST' = 'GET'): Promise<string> {
  await app.inject({ method, url: '/price/1' })
  const { headers } = await app.inject({ method, url: '/price/2?coupon=OLD' })
  return String(headers['x-debug-token'])
}

async function compare (app: FastifyInstance, token: string, headers: Record<string, string> = json, fields: Record<string, string> = {}) {
  const { formToken } = (await app.inject({ url: `/_profiler/${token}/replay`, headers: json })).json<{ formToken: string }>()
  const payload = new URLSearchParams({ form_token: formToken, ...fields }).toString()
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  return await app.inject({ method: 'POST', url: `/_profiler/${token}/coverage`, headers: { ...type, ...headers }, payload })
}

/** The functions of this file with the comments of their first lines. */
function listed (functions: Coverage['onlyFailure']): string[] {
  return functions.filter(({ file }) => /coverage\.test\.ts$/.test(file)).map(({ name, file, first, last }) => {
    const line = readFileSync(file, 'utf8').split('\n')[first - 1] ?? ''
    return `${name}, ${last - first + 1} lines: ${/\/\/ (.*)$/.exec(line)?.[1]}`
  })
}

inBothProducts('the functions that only the failure or only the last success runs', async (t, build) => {
  const app = await build(declare)
  t.equal(await hasInspection(), true)
  const token = await failureOf(app)
  const answer = await compare(app, token)
  t.equal(answer.statusCode, 200, answer.body)
  const coverage = answer.json<Coverage>()
  t.match(coverage, { token, success: { status: 200 }, failure: { status: 500 } })
  t.same(listed(coverage.onlyFailure), ['rebate, 5 lines: only the failure'])
  t.same(listed(coverage.onlySuccess), ['fullPrice, 3 lines: only the success'])
  const page = parseHtml((await compare(app, token, html)).body)
  const sentence = page.querySelector('.lead')?.textContent
  t.match(sentence, /^Only the failure ran .*rebate \(\S*coverage\.test\.ts:\d+–\d+\)/)
  t.match(sentence, /; only the success ran .*fullPrice \(\S*coverage\.test\.ts:\d+–\d+\)/)
  t.match(page.querySelector('pre')?.textContent, /found\.off/)
  const shown = parseHtml((await app.inject({ url: `/_profiler/${token}`, headers: html })).body)
  t.match(shown.querySelector(`form[action="/_profiler/${token}/coverage"] button`)?.textContent, 'Compare the functions that ran')
  const success = parseHtml((await app.inject({ url: `/_profiler/${coverage.success.token}`, headers: html })).body)
  t.equal(success.querySelector('form[action$="/coverage"]'), null, 'a success has none')
})

inBothProducts('another method needs a confirmation, and a failure a success', async (t, build) => {
  const app = await build(declare)
  t.equal(await hasInspection(), true)
  const token = await failureOf(app, 'POST')
  const refused = await compare(app, token)
  t.equal(refused.statusCode, 400)
  t.match(refused.body, /POST is not safe \(RFC 9110, section 9\.2\.1\): send confirm=1/)
  const { onlySuccess } = (await compare(app, token, json, { confirm: '1' })).json<Coverage>()
  t.same(listed(onlySuccess), ['fullPrice, 3 lines: only the success'])
  const { headers } = await app.inject('/alone')
  const alone = await compare(app, String(headers['x-debug-token']))
  t.equal(alone.statusCode, 404)
  t.match(alone.body, /No success of the same route is stored before this request/)
})

inBothProducts('the command shows them, over the network', async (t, build) => {
  const app = await build(declare)
  t.equal(await hasInspection(), true)
  const url = `http://127.0.0.1:${await listen(app)}`
  await fetch(`${url}/price/1`)
  const { headers } = await fetch(`${url}/price/2?coupon=OLD`)
  const out = new PassThrough()
  const shown = text(out)
  const code = await executeCommand(['compare', String(headers.get('x-debug-token')), '--coverage', '--url', url], out, new PassThrough())
  out.end()
  t.equal(code, 2)
  t.match(await shown, /only the failure ran rebate \(\S*coverage\.test\.ts:\d+–\d+\)\n[^]*only the success ran fullPrice \(\S*coverage\.test\.ts:\d+–\d+\)\n/)
})
