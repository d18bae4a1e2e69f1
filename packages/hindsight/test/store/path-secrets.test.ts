import type { FastifyInstance, InjectOptions } from 'fastify'
import { parts } from '../../src/parts/index.js'
import { panelsOf } from '../../src/parts/read.js'
import { profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'
import { parseHtml } from '../support/parse-html.js'

const html = { accept: 'text/html', 'sec-fetch-dest': 'document' }
const marker = (): string => `zq${Math.random().toString(36).slice(2, 9)}7${Math.random().toString(36).slice(2, 9)}`

function declare (app: FastifyInstance): void {
  const page = (_request: unknown, reply: { type: (type: string) => unknown }): string => {
    reply.type('text/html')
    return '<!doctype html><title>t</title><body>x</body>'
  }
  app.get('/page', page)
  app.get('/verify/:code', page)
  app.get('/reset/:token-:id', page)
  app.get('/pair/:token-:otp', page)
  app.get('/pin/:pin', { schema: { params: { type: 'object', properties: { pin: { type: 'integer' } } } } }, page)
  app.get('/only/:secret(^[a-z0-9]+).:format', page)
  app.get('/shop/:id/session/:sessionToken/*', page)
  app.post('/posted/:token', () => 'x')
  app.get('/logs/:token', async (request) => {
    const { token } = request.params as { token: string }
    request.log.info({ href: `https://a.test/logs/${token}` }, `mail with /logs/${token} was sent`)
    return { link: `/logs/${token}` }
  })
  app.get('/changed/:token', async (request, reply) => {
    request.params = {}
    return reply.header('link', `<${request.url}>; rel="self"`).send({ url: request.url })
  })
  app.get('/fails/:token', async (request) => { throw new Error(`No user for ${request.url}`) })
  app.get('/gone/:token', async (_request, reply) => { reply.callNotFound() })
  app.get('/moved/:token', async (request, reply) => reply.redirect(`${request.url}/done`))
  app.get('/forgot', async (request, reply) =>
    reply.redirect(`/verify/${(request.headers['x-marker'] as string)}`))
}

const encoded = (s: string): string => [...s].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('')
const requests: Array<[name: string, make: (s: string) => InjectOptions]> = [
  ['a code', (s) => ({ url: `/verify/${s}` })],
  ['a code, percent-encoded', (s) => ({ url: `/verify/${encoded(s)}` })],
  ['two parameters in a segment', (s) => ({ url: `/reset/${s}-7` })],
  ['two secrets in a segment', (s) => ({ url: `/pair/${s}-${s}x` })],
  ['an expression', (s) => ({ url: `/only/${s}.json` })],
  ['before a wildcard', (s) => ({ url: `/shop/7/session/${s}/a/b` })],
  ['a log line', (s) => ({ url: `/logs/${s}` })],
  ['parameters that the handler replaces', (s) => ({ url: `/changed/${s}` })],
  ['a failure', (s) => ({ url: `/fails/${s}` })],
  ['callNotFound', (s) => ({ url: `/gone/${s}` })],
  ['a redirect that repeats it', (s) => ({ url: `/moved/${s}` })],
  ['the same referer', (s) => ({ url: `/verify/${s}`, headers: { referer: `http://localhost/verify/${s}` } })],
  ['the referer of another page', (s) => ({ url: '/page', headers: { referer: `http://localhost/verify/${s}?a=b` } })],
  ['the referer of a page that is not found', (s) => ({ url: '/nothing', headers: { referer: `http://localhost/reset/${s}-7` } })],
  ['a query that repeats it', (s) => ({ url: `/verify/${s}?next=%2Fverify%2F${s}%3Fa%3Db` })],
  ['a method without a route', (s) => ({ method: 'PUT', url: `/posted/${s}` })]
]

async function outputs (app: FastifyInstance, token: string): Promise<string[]> {
  const profile = await app.hindsight.profiler.find(token)
  if (profile === undefined) throw new Error(token)
  const urls = [
    `/_wdt/${token}`, `/_profiler/${token}.json`, `/_profiler/${token}.md`, `/_profiler/${token}/replay`, '/_profiler/', '/_profiler/search.json',
    `/_profiler/${token}/differences`, `/_profiler/${token}/compare/${token}`,
    ...['curl', 'test'].map((format) => `/_profiler/${token}/as/${format}`),
    ...panelsOf(parts, profile).map(({ name }) => `/_profiler/${token}?panel=${name}`)
  ]
  return await Promise.all(urls.map(async (url) => {
    const { statusCode, body } = await app.inject({ url, headers: html })
    return `${statusCode} ${url}\n${body}`
  }))
}

inBothProducts('no output has the value of a path parameter with a secret name', async (t, build) => {
  const app = await build(declare)
  for (const [name, make] of requests) {
    const secret = marker()
    const { headers, ...given } = make(secret)
    const response = await app.inject({ ...given, headers: { ...html, ...headers } })
    const { token, url } = await profileOf(app, response)
    if (!name.startsWith('the referer of')) t.match(url, /\*{6}/, `${name}: ${url}`)
    for (const text of await outputs(app, token)) t.notOk(text.includes(secret), `${name}: ${text.split('\n', 1).join()}`)
  }
})

inBothProducts('a redirect to a path with a secret parameter', async (t, build) => {
  const app = await build(declare)
  const secret = marker()
  const profile = await profileOf(app, await app.inject({ url: '/forgot', headers: { 'x-marker': secret } }))
  const { headers } = profile.collectors.response as { headers: Record<string, string> }
  t.equal(headers.location, '/verify/******')
  t.notOk(JSON.stringify(profile).includes(secret), 'wherever else it is')
})

inBothProducts('a number, and a short value between signs', async (t, build) => {
  const app = await build(declare)
  for (const [path, shown] of [
    ['/pin/4711', '/pin/******'], ['/pin/471104', '/pin/******'], ['/reset/ab12-7', '/reset/******-7'], ['/only/ab1.json', '/only/******.json'],
    ['/reset/12-12', '/reset/******-******'],
    ['/verify/482913', '/verify/******'], ['/verify/482913?a=/verify/482913', '/verify/******?a=%2Fverify%2F******'],
    ['/page/password=ab12', '/page/password=******'],
    ['/verify/404', '/verify/404'], ['/verify/resend', '/verify/resend'], ['/page', '/page']
  ] as const) {
    const { url, collectors } = await profileOf(app, await app.inject({ url: path }))
    t.equal(url, `http://localhost${shown}`, path)
    t.equal((collectors.request as { target: string }).target, shown, path)
  }
})

inBothProducts('the masked form is searched, and its replay asks for each value', async (t, build) => {
  const app = await build(declare)
  const secret = marker()
  const { token } = await profileOf(app, await app.inject(`/pair/${secret}-x${secret}`))
  for (const url of ['/pair/******', '/pair/******-******', 'pair']) {
    const found = await app.inject(`/_profiler/search.json?${String(new URLSearchParams({ url }))}`)
    t.same(found.json<{ profiles: Array<{ token: string }> }>().profiles.map((profile) => profile.token), [token], url)
  }
  t.same((await app.inject(`/_profiler/search.json?url=${secret}`)).json<{ profiles: unknown[] }>().profiles, [])
  const form = await app.inject({ url: `/_profiler/${token}/replay`, headers: html })
  const names = [...parseHtml(form.body).querySelectorAll('[name^="value."]')].map((field) => field.getAttribute('name'))
  t.same(names, ['value.path.2', 'value.path.2_2'])
  const { formToken } = (await app.inject({ url: `/_profiler/${token}/replay`, headers: { accept: 'application/json' } }))
    .json<{ formToken: string }>()
  const payload = String(new URLSearchParams({ form_token: formToken, 'value.path.2': 'firstvalue1', 'value.path.2_2': 'other' }))
  const answer = await app.inject({
    method: 'POST', url: `/_profiler/${token}/replay`, payload, headers: { ...html, 'content-type': 'application/x-www-form-urlencoded' }
  })
  t.equal(answer.statusCode, 303)
  const again = await app.hindsight.profiler.find(String(answer.headers.location).split('/').at(-1) ?? '')
  t.match(again, { status: 200, url: 'http://localhost/pair/******-******' })
})

inBothProducts('a report of a violated policy', async (t, build) => {
  const app = await build(declare)
  const secret = marker()
  const { token } = await profileOf(app, await app.inject('/page'))
  const report = { 'effective-directive': 'script-src', 'blocked-uri': 'inline', 'source-file': `http://localhost/verify/${secret}`, 'line-number': 1 }
  const headers = { 'content-type': 'application/csp-report' }
  const answer = await app.inject({ method: 'POST', url: `/_profiler/csp-report/${token}`, headers, payload: JSON.stringify({ 'csp-report': report }) })
  t.equal(answer.statusCode, 204)
  const { blocked } = (await app.hindsight.profiler.find(token))?.collectors as { blocked: Array<{ sentence: string }> }
  t.match(blocked[0]?.sentence, 'inline code (http://localhost/verify/******:1)')
})
