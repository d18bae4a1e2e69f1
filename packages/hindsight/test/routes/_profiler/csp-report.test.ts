import type { FastifyInstance } from 'fastify'
import type { ServiceOptions } from '../../../../../lib/options.js'
import { listen } from '../../support/app.js'
import { inBothProducts, type TestedProduct } from '../../support/products.js'

const DOCUMENT = { 'sec-fetch-dest': 'document', accept: 'text/html' }
const LEGACY = { 'content-type': 'application/csp-report' }
const report = JSON.stringify({ 'csp-report': { 'effective-directive': 'img-src', 'blocked-uri': 'https://img.example/a.png', disposition: 'enforce' } })

const POLICY = { enforce: { 'default-src': "'self'", 'img-src': "'self'" } }
/** The package has no policies of its own. */
const withPolicy = (product: TestedProduct): ServiceOptions => product === 'service' ? { contentSecurityPolicy: POLICY } : {}

function pages (app: FastifyInstance): void {
  app.get('/', async (_request, reply) => reply.type('text/html').send('<!DOCTYPE html><title>x</title><body>x</body>'))
  app.get('/own', async (_request, reply) => reply.type('text/html').header('content-security-policy', "img-src 'none'; report-uri /mine").send('x'))
  app.get('/two', async (_request, reply) => reply.type('text/html').header('content-security-policy', "img-src 'none', font-src 'none';").send('x'))
  app.get('/json', async () => ({ a: 1 }))
  app.get('/fails', async () => { throw new Error('x') })
  app.get('/unkept', { config: { profile: false } }, async (_request, reply) => reply.type('text/html').send('x'))
}

inBothProducts('the policies of documents have a report URI in the service', async (t, build, product) => {
  const app = await build(pages, withPolicy(product))
  const none = /^(?!.*report-uri)/
  // With the package this opens the server of the pages, on which the policy does not depend.
  await app.inject('/_profiler/')
  for (const [name, url, headers, expected] of [
    ['a document', '/', DOCUMENT, product === 'service' ? /; ?report-uri \/_profiler\/csp-report\/TOKEN(?:;|$)/ : none],
    ['a frame', '/', { ...DOCUMENT, 'sec-fetch-dest': 'iframe' }, product === 'service' ? /; ?report-uri / : none],
    ['two of the route', '/two', DOCUMENT, /^(?!.*report-uri).*img-src 'none'.*font-src 'none'/],
    ['one that reports elsewhere', '/own', DOCUMENT, /^img-src 'none'; report-uri \/mine$/],
    ['no browser', '/', { accept: 'text/html' }, none],
    ['fetch', '/', { 'sec-fetch-dest': 'empty' }, none],
    ['no document', '/json', DOCUMENT, none],
    ['the diagnostic page', '/fails', DOCUMENT, none],
    ['no profile', '/unkept', DOCUMENT, none]
  ] as const) {
    const response = await app.inject({ url, headers })
    t.match(String(response.headers['content-security-policy']).replaceAll(String(response.headers['x-debug-token']), 'TOKEN'), expected, name)
  }
  const port = await listen(app)
  const stranger = await fetch(`http://127.0.0.1:${port}/`, { headers: { ...DOCUMENT, origin: 'https://evil.example' } })
  t.notMatch(stranger.headers.get('content-security-policy'), 'report-uri', 'the page of a stranger')
  if (product === 'package') return
  for (const options of [{ debug: false }, { contentSecurityPolicy: { ...POLICY, report: false } }, { profiler: false }] as ServiceOptions[]) {
    const other = await build(pages, { ...withPolicy(product), ...options })
    const policy = (await other.inject({ url: '/', headers: DOCUMENT })).headers['content-security-policy']
    t.match(policy, /^default-src 'self'/, JSON.stringify(options))
    t.notMatch(policy, 'report-uri', JSON.stringify(options))
  }
})

inBothProducts('a report is attached to the profile of its page, which stays pinned', async (t, build, product) => {
  const app = await build(pages, withPolicy(product))
  const page = await app.inject({ url: '/', headers: DOCUMENT })
  const token = String(page.headers['x-debug-token'])
  await app.hindsight.profiler.pin(token, true)
  const url = `/_profiler/csp-report/${token}`
  const sent = await app.inject(
    { method: 'POST', url, headers: { ...LEGACY, 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'report' }, payload: report }
  )
  t.same([sent.statusCode, sent.body], [204, ''])
  const other = JSON.stringify({ 'csp-report': { 'effective-directive': 'font-src', 'blocked-uri': 'data', disposition: 'report' } })
  const payloads = [report, other, report, other]
  const answers = await Promise.all(payloads.map((payload) => app.inject({ method: 'POST', url, headers: LEGACY, payload })))
  t.same(answers.map(({ statusCode }) => statusCode), [204, 204, 204, 204])
  const profile = await app.hindsight.profiler.find(token)
  t.match(
    profile?.collectors.blocked, [{ kind: 'csp', sentence: /by img-src/ }, { kind: 'csp', sentence: /by font-src/, option: 'contentSecurityPolicy.reportOnly' }]
  )
  t.equal((profile?.collectors.blocked as unknown[]).length, 2)
  await app.hindsight.profiler.flush()
  t.match(await app.hindsight.profiler.search({ criteria: { token }, limit: 1 }), { profiles: [{ token, pinned: true }] })
  if (product === 'package') return
  t.match((await app.inject({ url: `/_profiler/${token}?panel=csp`, headers: { accept: 'text/html' } })).body, /Blocked by Content Security Policy/)
})

inBothProducts('other bodies, tokens and origins are refused', async (t, build, product) => {
  const app = await build(pages, withPolicy(product))
  const token = String((await app.inject({ url: '/', headers: DOCUMENT })).headers['x-debug-token'])
  const send = async (headers: Record<string, string>, payload: string, to = token) =>
    await app.inject({ method: 'POST', url: `/_profiler/csp-report/${to}`, headers: { accept: 'application/json', ...headers }, payload })
  for (const [name, headers, payload, status, to] of [
    ['another page', { ...LEGACY, 'sec-fetch-site': 'cross-site' }, report, 403],
    ['another host of the site', { ...LEGACY, 'sec-fetch-site': 'same-site' }, report, 403],
    ['no token', LEGACY, report, 404, 'xyz'], ['an unknown token', LEGACY, report, 404, '0f0f0f'],
    ['no JSON', LEGACY, '{', 400], ['another JSON', LEGACY, '{}', 400], ['another type', { 'content-type': 'text/html' }, report, 415],
    ['a large one', LEGACY, JSON.stringify({ a: 'x'.repeat(70_000) }), 413]
  ] as Array<[string, Record<string, string>, string, number, string?]>) t.equal((await send(headers, payload, to)).statusCode, status, name)
  const url = `http://127.0.0.1:${await listen(app)}/_profiler/csp-report/${token}`
  const stranger = await fetch(url, { method: 'POST', headers: { ...LEGACY, origin: 'https://evil.example' }, body: report })
  t.equal(stranger.status, 404, 'another origin')
})

inBothProducts('outside debug mode the route is a 404', async (t, build) => {
  const app = await build(pages, { debug: false })
  t.equal((await app.inject({ method: 'POST', url: '/_profiler/csp-report/000000', headers: LEGACY, payload: report })).statusCode, 404)
})
