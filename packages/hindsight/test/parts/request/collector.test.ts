import { setImmediate as turn } from 'node:timers/promises'
import { profileMarkdown } from '../../support/marks.js'
import { get, listen, profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

const encoder = new TextEncoder()

inBothProducts('the body and the size of a Response are recorded', async (t, build) => {
  const once = new Response('once')
  const text = { headers: { 'content-type': 'text/plain' } }
  const routes: Array<[url: string, make: () => Response, sent: string, status: number, size: number | null, body: unknown]> = [
    ['/text', () => new Response('hällo'), 'hällo', 200, 6, 'hällo'],
    ['/json', () => Response.json({ a: 1, password: 'p4ss' }, { status: 201 }), '{"a":1,"password":"p4ss"}', 201, 25, { a: 1, password: '******' }],
    ['/stream', () => new Response(streamOf(['one ', 'twö']), text), 'one twö', 200, 8, 'one twö'],
    ['/null', () => new Response(null), '', 200, 0, undefined],
    ['/empty', () => new Response(null, { status: 204 }), '', 204, null, undefined],
    ['/png', () => new Response('abc', { headers: { 'content-type': 'image/png' } }), 'abc', 200, 3, '[binary, 3 bytes, image/png]'],
    ['/zip', () => new Response('abc', { headers: { 'content-type': 'text/plain', 'content-encoding': 'x' } }), 'abc', 200, 3, '[binary, 3 bytes, text/plain]'],
    ['/long', () => new Response('x'.repeat(50_000)), 'x'.repeat(50_000), 200, 50_000, `${'x'.repeat(8_000)}… (42,000 more bytes)`],
    ['/once', () => once, 'once', 200, 4, 'once']
  ]
  const app = await build((app) => { for (const [url, make] of routes) app.get(url, async () => make()) })
  for (const [url, , sent, status, size, body] of routes) {
    const response = await app.inject(url)
    t.same([response.statusCode, response.body], [status, sent], url)
    const { collectors } = await profileOf(app, response)
    const recorded = collectors.response as Record<string, unknown>
    t.same([recorded.status, recorded.size, recorded.body], [status, size, body], url)
  }
  const { exceptions } = await profileOf(app, await app.inject('/once'))
  t.equal(exceptions.at(-1)?.code, 'FST_ERR_REP_RESPONSE_BODY_CONSUMED', 'a Response is sent once, as without Hindsight')
})

inBothProducts('nothing of a Response is read that is not sent', async (t, build) => {
  let [reads, before, cancelled] = [0, -1, '']
  const source = new ReadableStream({
    pull (controller) { controller.enqueue(encoder.encode(`${reads++},`)) },
    cancel (reason) { cancelled = `cancelled${String(reason ?? '')}` }
  }, { highWaterMark: 0 })
  const app = await build((app) => {
    app.get('/read', {
      onSend: async (_request, _reply, payload) => {
        await turn()
        before = reads
        const reader = (payload as Response).body?.getReader()
        await reader?.read()
        await reader?.cancel()
        return 'own'
      }
    }, async () => new Response(source))
    app.get('/text', { onSend: async (_request, _reply, payload) => await (payload as Response).text() }, async () => new Response('all'))
    app.get('/fails', async () => new Response(new ReadableStream({ pull (controller) { controller.error(new RangeError('broken')) } })))
  })
  const response = await app.inject('/read')
  t.equal(response.body, 'own')
  t.same([before, reads, cancelled], [0, 1, 'cancelled'])
  t.equal((await app.inject('/text')).body, 'all', 'a hook of the route reads it as it was given')
  const port = await listen(app)
  t.match((await profileOf(app, await get(port, '/fails'))).exceptions, [{ name: 'RangeError', message: 'broken' }])
})

function streamOf (chunks: string[]): ReadableStream {
  return new ReadableStream({
    pull (controller) {
      const chunk = chunks.shift()
      if (chunk === undefined) controller.close()
      else controller.enqueue(encoder.encode(chunk))
    }
  })
}

inBothProducts('a profile says why a response has no body where the application may have expected one', async (t, build) => {
  const app = await build((app) => {
    app.get('/undefined', async () => {})
    app.get('/hooked', { onSend: async (_request, _reply, payload) => payload }, async () => {})
    app.get('/function', async () => () => 1)
    app.get('/symbol', (_request, reply) => { reply.send(Symbol('x')) })
    app.get('/dropped', async (_request, reply) => { reply.code(204); return { id: 1 } })
    app.get('/empty', async (_request, reply) => { reply.code(204) })
    app.get('/sent', async (_request, reply) => reply.send())
    app.get('/sent/in-a-callback', (_request, reply) => { setImmediate(() => { reply.send() }) })
    app.get('/redirect', async (_request, reply) => reply.redirect('/'))
    app.get('/text', async () => 'x')
    app.get('/null', async () => null)
    app.get('/failed', { errorHandler: async () => {} }, async () => { throw new Error('x') })
    app.addHook('onRequest', async (request, reply) => { if (request.url === '/hook') return reply.send() })
    app.get('/hook', async () => 'x')
  })
  for (const [url, why] of [
    ['/undefined', 'the handler returned undefined'],
    ['/hooked', 'the handler returned undefined'],
    ['/function', 'JSON has no form of its payload'],
    ['/symbol', 'JSON has no form of its payload'],
    ['/failed', 'the error handler returned undefined'],
    ['/dropped', 'a response with the status 204 has none'],
    ['/empty'], ['/sent'], ['/sent/in-a-callback'], ['/redirect'], ['/text'], ['/null'], ['/hook']
  ] as const) {
    const profile = await profileOf(app, await app.inject(url))
    const { bodyNote } = profile.collectors.response as { bodyNote?: string }
    t.equal(bodyNote, why === undefined ? undefined : `not sent: ${why}`, url)
    if (why === undefined) continue
    t.match(profileMarkdown(profile), `\n\nThe body was not sent: ${why}.\n`, url)
    t.match((await app.inject(`/_profiler/${profile.token}`)).body, `<p class="note">The body was not sent: ${why}.</p>`, url)
  }
})

inBothProducts('no body is shown that no client receives', async (t, build) => {
  const app = await build((app) => {
    app.get('/text', async () => 'x')
    app.get('/json', async () => ({ id: 1 }))
    app.get('/failed', async () => { throw new Error('x') })
    app.get('/204', async (_request, reply) => reply.code(204).send(Buffer.from([0, 1, 2])))
    app.get('/304', async (_request, reply) => reply.code(304).send(Buffer.from([0, 1, 2])))
  })
  for (const [method, url] of [['HEAD', '/text'], ['HEAD', '/json'], ['HEAD', '/failed'], ['GET', '/204'], ['GET', '/304']] as const) {
    const { collectors } = await profileOf(app, await app.inject({ method, url, headers: { accept: 'text/html' } }))
    const { body, size } = collectors.response as { body?: unknown, size: unknown }
    t.same([body, size], [undefined, null], `${method} ${url}`)
  }
})

inBothProducts('a body whose fields have the names of methods is marked', async (t, build) => {
  const body = { type: 'object', properties: { qty: { type: 'integer' } }, additionalProperties: false }
  const app = await build((app) => { app.post('/', { schema: { body } }, async () => 'x') })
  const payload = '{"qty":"3","toString":"a","constructor":"b"}'
  const response = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': 'application/json' }, payload })
  const { token } = await profileOf(app, response)
  const { body: page } = await app.inject({ url: `/_profiler/${token}?panel=request`, headers: { accept: 'text/html' } })
  t.notMatch(page, 'The panel failed')
  t.match(page, /toString[^]*<del>/)
})
