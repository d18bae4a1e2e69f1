import { subscribe, unsubscribe, hasSubscribers } from 'node:diagnostics_channel'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { Agent, fetch as undiciFetch, request as undiciRequest } from 'undici'
import type { ProfilerSettings } from '../../../src/options.js'
import { profileAddress } from '../../../src/parts/http-client/outgoing.js'
import { build, profileOf } from '../../support/app.js'
import { inBothProducts } from '../../support/products.js'

const server = http.createServer((request, response) => {
  response.setHeader('set-cookie', 'sid=s3cret-answer')
  response.statusCode = Number(/\/(\d{3})/.exec(request.url ?? '')?.[1] ?? 200)
  request.resume().on('end', () => setTimeout(() => response.end('body'), 5))
})
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
t.teardown(() => server.close())
const { port } = server.address() as AddressInfo
const base = `http://127.0.0.1:${port}`

const closed = http.createServer()
await new Promise<void>(resolve => closed.listen(0, '127.0.0.1', resolve))
const nowhere = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`
await new Promise(resolve => closed.close(resolve))

const get = (url: string, options: http.RequestOptions = {}): Promise<number> => new Promise((resolve, reject) => {
  http.get(url, options, response => response.resume().on('end', () => resolve(response.statusCode ?? 0))).on('error', reject)
})

interface RecordedCall {
  method: string
  url: string
  status: number | null
  start: number
  duration: number | null
  error?: string
  requestHeaders: Record<string, string | string[]>
  responseHeaders: Record<string, string | string[]>
}

interface Collected {
  count: number
  calls: RecordedCall[]
}

const ways: Array<[name: string, send: (url: string, headers: Record<string, string>) => Promise<unknown>]> = [
  ['fetch of Node.js', async (url, headers) => await (await fetch(url, { headers })).text()],
  ['fetch of undici', async (url, headers) => await (await undiciFetch(url, { headers })).text()],
  ['request of undici', async (url, headers) => await (await undiciRequest(url, { headers })).body.text()],
  ['node:http', async (url, headers) => await get(url, { headers })]
]

for (const [name, send] of ways) {
  t.test(`${name}: a call has its method, URL, status, time and masked headers`, async t => {
    const app = await build(t, {}, app => app.get('/', async request => {
      await send(`${base}${(request.query as { path: string }).path}`, { 'x-api-key': 's3cret-sent', 'x-kept': 'yes' })
      return 'x'
    }))
    for (const [path, status] of [['/a?b=1', 200], ['/404?token=s3cret-query', 404]] as const) {
      const profile = await profileOf(app, await app.inject(`/?path=${encodeURIComponent(path)}`))
      const { count, calls } = profile.collectors['http-client'] as Collected
      t.equal(count, 1)
      const call = calls[0] as RecordedCall
      t.match(call, { method: 'GET', url: `${base}${path.replace('s3cret-query', '******')}`, status })
      t.ok(call.start > 0 && (call.duration ?? 0) >= 4, `${call.duration}`)
      t.match(call.requestHeaders, { 'x-api-key': '******', 'x-kept': 'yes' })
      t.match([call.responseHeaders['set-cookie']].flat(), ['sid=******'])
      t.notMatch(JSON.stringify(profile), /s3cret/)
    }
  })

  t.test(`${name}: the error of a call has no secrets`, async t => {
    const app = await build(t, {}, app => app.get('/', async () => {
      await send(`${nowhere}/?token=s3cret`, {}).catch(() => {})
      return 'x'
    }))
    const profile = await profileOf(app, await app.inject('/'))
    const [call] = (profile.collectors['http-client'] as Collected).calls
    t.match(call, { status: null, error: /ECONNREFUSED/ })
    t.notMatch(JSON.stringify(profile), /s3cret/)
  })
}

inBothProducts('calls are attributed to the request that made them, also concurrent calls', async (t, build) => {
  const app = await build(app => {
    app.get('/:name', async request => {
      const { name } = request.params as { name: string }
      await Promise.all([fetch(`${base}/fetch-${name}`).then(answer => answer.text()), get(`${base}/http-${name}`)])
      return name
    })
  })
  const names = ['a', 'b', 'c', 'd']
  const answers = await Promise.all(names.map(name => app.inject(`/${name}`)))
  await get(`${base}/nobody`)
  for (const [i, name] of names.entries()) {
    const { collectors } = await profileOf(app, answers[i] as never)
    t.same((collectors['http-client'] as Collected).calls.map(({ url }) => url).sort(), [`${base}/fetch-${name}`, `${base}/http-${name}`])
  }
})

inBothProducts('100 calls are kept and all are counted; a pending call is marked', async (t, build) => {
  const server = http.createServer(() => {})
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => server.close().closeAllConnections())
  const silent = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const app = await build(app => {
    app.get('/many', async () => {
      for (let i = 0; i < 11; i++) await Promise.all(Array.from({ length: 10 }, () => get(`${base}/`)))
      return 'x'
    })
    app.get('/pending', () => { fetch(silent).catch(() => {}); return 'x' })
    app.get('/none', () => 'x')
  })
  const many = (await profileOf(app, await app.inject('/many'))).collectors['http-client'] as Collected
  t.same([many.count, many.calls.length], [110, 100])
  const [pending] = ((await profileOf(app, await app.inject('/pending'))).collectors['http-client'] as Collected).calls
  t.match(pending, { status: null, duration: null })
  t.notOk('http-client' in (await profileOf(app, await app.inject('/none'))).collectors)
})

const selected = (request: FastifyRequest): boolean => request.headers['x-profile'] === '1'
const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const production: Array<[name: string, profiler: ProfilerSettings, headers: Record<string, string>]> = [
  ['a sampled one', { sampling: 1 }, {}],
  ['one that the matcher selects', { matcher: selected }, { 'x-profile': '1' }]
]
for (const [name, profiler, headers] of production) {
  t.test(`calls of profiled requests are recorded in production: ${name}`, async t => {
    const app = await build(t, { debug: false, profiler: { production: true, storage: 'memory', ...profiler } }, app => {
      app.get('/child', () => 'x')
      app.get('/', async () => {
        await (await fetch(`${base}/fetch`)).text()
        await get(`${base}/http`)
        await app.inject({ url: '/child', headers })
        return 'x'
      })
    })
    await app.inject({ url: '/', headers: { ...headers, traceparent } })
    const { profiles } = await app.hindsight.profiler.search({ limit: 9 })
    const [parent, child, ...others] = await Promise.all(
      ['/', '/child'].map(async path => await app.hindsight.profiler.find(profiles.find(({ url }) => url.endsWith(`localhost${path}`))?.token ?? ''))
    )
    t.same([profiles.length, others], [2, []])
    t.match((parent?.collectors['http-client'] as Collected).calls, [{ url: `${base}/fetch`, status: 200 }, { url: `${base}/http`, status: 200 }])
    t.equal(child?.parent, parent?.token)
    t.same(parent?.collectors.trace, { traceId: traceparent.slice(3, 35), parentId: traceparent.slice(36, 52), sampled: true })
  })
}

inBothProducts('an interim response is no answer', async (t, build) => {
  let answer = (): unknown => undefined
  const server = http.createServer((_request, response) => {
    answer = () => response.end('late')
    response.writeEarlyHints({ link: '</style.css>; rel=preload' })
    hasArrived()
  })
  t.teardown(() => server.close().closeAllConnections())
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve) })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let sent: Promise<unknown> = Promise.resolve()
  let hasArrived = (): void => {}
  const app = await build((app) => {
    app.get('/', async () => {
      const arrived = new Promise<void>((resolve) => { hasArrived = resolve })
      sent = fetch(origin)
      await arrived
      await sleep(200)
      return 'ok'
    })
  })
  const { collectors } = await profileOf(app, await app.inject('/'))
  const [call] = (collectors['http-client'] as Collected).calls as Array<{ status: unknown, answered?: number }>
  t.same([call?.status, call?.answered], [null, undefined])
  answer()
  await sent
})

inBothProducts('requests are sent as without Hindsight, whether or not they are recorded', async (t, build) => {
  const app = await build(app => {
    app.get('/', async () => await new Promise(resolve => {
      const sent = http.get(base, answer => answer.resume().on('end', () => resolve(sent.getHeaders())))
    }))
  }, { debug: false, profiler: { production: true, storage: 'memory', matcher: selected } })
  for (const headers of [{}, { 'x-profile': '1' }]) {
    t.same((await app.inject({ url: '/', headers: { traceparent, ...headers } })).json(), { host: `127.0.0.1:${port}` })
  }
  const { profiles } = await app.hindsight.profiler.search({ limit: 9 })
  t.same(profiles.length, 1)
  t.equal(((await app.hindsight.profiler.find(profiles[0]!.token))?.collectors['http-client'] as Collected).count, 1)
})

inBothProducts('all applications share one subscription, which ends with the last one', async (t, build) => {
  const channels = ['undici:request:create', 'http.client.request.start']
  const watched = () => channels.map(channel => hasSubscribers(channel))
  const production = await build(undefined, { debug: false })
  t.same(watched(), [false, false])
  const [one, two] = [await build(), await build()]
  let told = 0
  const count = (): void => { told++ }
  subscribe('undici:request:create', count)
  t.same(watched(), [true, true])
  await one.close()
  t.same(watched(), [true, true])
  await two.close()
  unsubscribe('undici:request:create', count)
  t.same(watched(), [false, false])
  await production.close()
  t.equal(told, 0)
})

inBothProducts('headers with the names of inherited properties are recorded', async (t, build) => {
  const app = await build(app => app.get('/', async () => {
    await undiciFetch(base, { headers: { constructor: 'a', tostring: 'b' } })
    return 'x'
  }))
  const { calls } = (await profileOf(app, await app.inject('/'))).collectors['http-client'] as { calls: Array<{ requestHeaders: object }> }
  t.match(calls[0]?.requestHeaders, { constructor: 'a', tostring: 'b' })
})

inBothProducts('the error of a failed call is unchanged', async (t, build) => {
  const app = await build(app => app.get('/', async () => await get(nowhere)))
  t.equal((await app.inject('/')).statusCode, 500)
})

/** Sends the beginning of a body at once, and its end after 100 ms. */
const upload = (url: string): Promise<number | undefined> => new Promise((resolve) => {
  const sent = http.request(
    url, { method: 'POST', agent: false }, (response) => { response.resume().on('close', () => setTimeout(resolve, 150, response.statusCode)) }
  )
  sent.on('error', () => {}).write('beginning')
  setTimeout(() => sent.end('end'), 100)
})

inBothProducts('node:http: a call begins with its request, and has a response that comes before the end of its body', async (t, buildMode) => {
  const early = http.createServer((_request, response) => { response.statusCode = 413; response.end('too large') })
  await new Promise<void>(resolve => early.listen(0, '127.0.0.1', resolve))
  t.teardown(() => early.close())
  const app = await buildMode((app) => {
    app.get('/late', async () => await upload(`${base}/upload`))
    app.get('/early', async () => await upload(`http://127.0.0.1:${(early.address() as AddressInfo).port}/`))
  })
  const callsOf = async (url: string): Promise<RecordedCall[]> => ((await profileOf(app, await app.inject(url))).collectors['http-client'] as Collected).calls
  const [late] = await callsOf('/late')
  t.ok((late?.duration ?? 0) > 95, `an upload of 100 ms: ${late?.duration}`)
  t.match(late, { method: 'POST', status: 200 })
  const answered = await callsOf('/early')
  t.match(answered, [{ method: 'POST', status: 413 }])
  t.equal(answered.length, 1)
})

inBothProducts('the URL is that of the target, also through a proxy', async (t, build) => {
  const proxy = http.createServer((_request, response) => response.end()).on('connect', (_request, socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'))
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => proxy.close())
  const { port } = proxy.address() as AddressInfo
  const send = (method: string, path: string) => new Promise((resolve, reject) => http.request({ method, port, path, host: '127.0.0.1', agent: false })
    .on('response', (response) => response.resume().on('end', resolve)).on('connect', (_response, socket) => resolve(socket.end())).on('error', reject).end())
  const app = await build((app) => app.get('/', async () => {
    await send('GET', 'http://api.example/x?token=s3cret')
    await send('CONNECT', 'api.example:443')
    await send('OPTIONS', '*')
    return 'x'
  }))
  const { calls } = (await profileOf(app, await app.inject('/'))).collectors['http-client'] as Collected
  t.same(calls.map(({ url }) => url), ['http://api.example/x?token=******', 'api.example:443', `http://127.0.0.1:${port}/*`])
})

inBothProducts('bodies of calls that are JSON or text are recorded with the option, masked', async (t, build) => {
  const server = http.createServer((request, response) => {
    request.resume().on('end', () => {
      if (request.url === '/image') return response.setHeader('content-type', 'image/png').end('s3cret-image')
      response.setHeader('content-type', request.url === '/text' ? 'text/plain' : 'application/json')
      if (request.url === '/long') return response.end(JSON.stringify('x'.repeat(20_000)))
      return response.end(request.url === '/text' ? 'password=s3cret-text' : '{"left":2,"apiKey":"s3cret-received"}')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  // Where `fetch` of Node.js ran first, its undici sends the requests of all others: that of Node.js 20 publishes no bodies.
  const dispatcher = new Agent()
  t.teardown(() => dispatcher.close())
  for (const callBodies of [undefined, false]) {
    const app = await build((app) => {
      app.get('/', async () => {
        const headers = { 'content-type': 'application/json' }
        for (const path of ['/json', '/text', '/image', '/long']) {
          await (await undiciRequest(origin + path, { dispatcher, method: 'POST', headers, body: '{"qty":1,"password":"s3cret-sent"}' })).body.dump()
        }
        return 'x'
      })
    }, { profiler: callBodies === false ? { callBodies } : {} })
    const profile = await profileOf(app, await app.inject('/'))
    t.notMatch(JSON.stringify(profile), /s3cret/)
    const bodies = (profile.collectors['http-client'] as { calls: Array<{ requestBody?: unknown, responseBody?: unknown }> }).calls
      .map(({ requestBody, responseBody }) => [requestBody, responseBody])
    const sent = { qty: 1, password: '******' }
    const long = `"${'x'.repeat(7_999)}… (12,002 more bytes)`
    const recorded = [[sent, { left: 2, apiKey: '******' }], [sent, 'password=******'], [sent, undefined], [sent, long]]
    t.same(bodies, callBodies !== false ? recorded : recorded.map(() => [undefined, undefined]))
    const panel = (await app.inject({ url: `/_profiler/${profile.token}?panel=http-client`, headers: { accept: 'text/html' } })).body
    t.equal(panel.split('<summary>Response body</summary>').length - 1, callBodies !== false ? 3 : 0)
  }
})

inBothProducts('the page says why the body of a response is missing', async (t, build) => {
  const server = http.createServer((_request, response) => response.setHeader('content-type', 'application/json').writeHead(404).end('{"error":1}'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const off = 'profiler.callBodies is off'
  for (const callBodies of [true, false]) {
    const app = await build((app) => {
      app.get('/', async () => {
        await new Promise((resolve) => http.get(origin, (response) => response.resume().on('close', resolve)))
        await (await fetch(origin)).text()
        await (await fetch(origin, { method: 'HEAD' })).text()
        return 'x'
      })
    }, { profiler: { callBodies } })
    const profile = await profileOf(app, await app.inject('/'))
    const { calls } = profile.collectors['http-client'] as { calls: Array<{ bodyNote?: string, responseBody?: unknown }> }
    // Another version of undici may send the requests of `fetch`.
    const later = 'fetch shows it in Node.js 24 and later, and the package undici in 7 and later'
    const ofFetch = calls[1]?.responseBody === undefined ? later : undefined
    const expected = callBodies ? ['node:http publishes none', ofFetch, undefined] : [off, off, undefined]
    t.same(calls.map(({ bodyNote }) => bodyNote), expected)
    const { body } = await app.inject({ url: `/_profiler/${profile.token}?panel=http-client`, headers: { accept: 'text/html' } })
    t.match(body, `${callBodies ? '1 response' : '2 responses'} without a body here: ${expected[0]}.`)
  }
})

inBothProducts('a compressed body is shown as it was before its server compressed it', async (t, build) => {
  const json = '{"error":"unknown currency","apiKey":"s3cret"}'
  const long = 'unknown currency '.repeat(5_000)
  const numbers = Array.from({ length: 30_000 }, (_, i) => `item${i * i % 99_991}`).join(' ')
  const bodies: Record<string, [encoding: string, body: Buffer]> = {
    '/gzip': ['gzip', gzipSync(json)],
    '/deflate': ['Deflate', deflateSync(json)],
    '/br': ['br', brotliCompressSync(json)],
    '/long': ['gzip', gzipSync(long)],
    '/cut': ['br', brotliCompressSync(numbers)],
    '/bomb': ['gzip', gzipSync('x'.repeat(2_000_000))],
    '/other': ['zstd', Buffer.from('abc')],
    '/damaged': ['gzip', Buffer.from('abc')]
  }
  const server = http.createServer((request, response) => {
    const [encoding, body] = bodies[request.url ?? ''] ?? ['', '']
    response.writeHead(404, { 'content-type': 'application/json', 'content-encoding': encoding }).end(body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const dispatcher = new Agent()
  t.teardown(async () => { await dispatcher.close(); server.close() })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const app = await build((app) => app.get('/', async () => {
    for (const path of Object.keys(bodies)) await (await undiciRequest(origin + path, { dispatcher })).body.dump()
    return 'x'
  }))
  const profile = await profileOf(app, await app.inject('/'))
  const { calls } = profile.collectors['http-client'] as { calls: Array<{ bodyNote?: string, responseBody?: unknown }> }
  const shown = { error: 'unknown currency', apiKey: '******' }
  t.same(calls.slice(0, 3).map(({ responseBody }) => responseBody), [shown, shown, shown])
  t.equal(calls[3]?.responseBody, `${long.slice(0, 8_000)}… (77,000 more bytes)`)
  const [, start, size] = /^(.{8000})… \(([\d.]+) kB compressed\)$/.exec(String(calls[4]?.responseBody)) ?? []
  t.ok(numbers.startsWith(String(start)), 'the beginning, decompressed')
  t.equal(Number(size), Math.round((bodies['/cut']?.[1].length ?? 0) / 100) / 10)
  t.same(calls.slice(5).map(({ responseBody, bodyNote }) => responseBody ?? bodyNote),
    ['compressed with gzip', 'compressed with zstd', 'compressed with gzip'])
  t.ok(calls.slice(0, 5).every(({ bodyNote }) => bodyNote === undefined))
})

t.test('a server of another machine names no profile of this one', async (t) => {
  const [local, named] = ['http://localhost:3000/_profiler/abcdef', 'http://stock.internal/_profiler/abcdef']
  t.equal(profileAddress(local, []), local)
  t.equal(profileAddress(local, ['stock.internal'], false), null)
  t.equal(profileAddress(named, ['stock.internal'], false), named)
  t.equal(profileAddress(named, []), null)
})
