import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'

/*
 * Measures what a hostile value of each request header costs: the CPU time of a request with it, without that of a
 * request with the beginning of the value and an inert header of the same size. Prints what costs more than LIMIT
 * milliseconds.
 * MODES=full-production node --import=tsx test/slow/fuzz/header-cost.ts [header...]
 */
const SIZE = 60_000
const LIMIT = 2
const RUNS = 7

const TOKENS: Record<string, string> = {
  accept: 'text/html',
  'accept-language': 'en',
  'accept-encoding': 'gzip',
  'accept-charset': 'utf-8',
  'accept-version': '1.x',
  'access-control-request-headers': 'x-one',
  'access-control-request-method': 'PUT',
  authorization: 'Basic YTpi',
  baggage: 'a=b',
  'cache-control': 'no-cache',
  connection: 'close',
  'content-type': 'application/json; charset=utf-8',
  cookie: 'a=b',
  expect: '100-continue',
  forwarded: 'for=127.0.0.1;host=a;proto=http',
  host: 'localhost:80',
  'if-match': '"a"',
  'if-modified-since': 'Sun, 06 Nov 1994 08:49:37 GMT',
  'if-none-match': 'W/"a"',
  'if-range': '"a"',
  link: '<a>; rel="b"',
  origin: 'https://a.example.com',
  range: 'bytes=0-1',
  referer: 'http://localhost/a',
  'sec-fetch-site': 'none',
  te: 'trailers',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=b',
  'transfer-encoding': 'chunked',
  upgrade: 'h2c',
  'user-agent': 'a/1 (b)',
  via: '1.1 a',
  'x-csrf-token': 'a.b',
  'x-forwarded-for': '127.0.0.1',
  'x-forwarded-host': 'localhost',
  'x-forwarded-port': '80',
  'x-forwarded-prefix': '/a',
  'x-forwarded-proto': 'https',
  'x-http-method-override': 'PUT',
  'x-real-ip': '127.0.0.1',
  'x-request-id': 'a',
  query: 'a=b'
}

function shapesOf (token: string): Record<string, string> {
  const filled = (unit: string, start = '', end = ''): string =>
    start + unit.repeat(Math.floor((SIZE - start.length - end.length) / unit.length)) + end
  return {
    'one entry': filled('a'),
    'many entries': filled(`${token}, `),
    'many tiny entries': filled('a,'),
    'other entries': Array.from({ length: SIZE / 9 }, (_, i) => `a${i}/b`).join(',').slice(0, SIZE),
    semicolons: filled(`${token};`),
    weights: filled(`${token};q=0.5,`),
    'many weights': filled(';q=', token),
    'quotes, alternating': filled('"a', `${token}="`),
    'quoted backslashes': filled('\\"', `${token};a="`),
    backslashes: filled('\\', token),
    spaces: filled(' ', token, 'b'),
    'spaces, commas': filled(' ,', token, 'b'),
    tabs: filled('\t', token, 'b'),
    commas: filled(',', token),
    'semicolon run': filled(';', token, 'b'),
    'equals signs': filled('=', token),
    parentheses: filled('(', token),
    'percent signs': filled('%', token),
    'percent-encoded': filled('%41', token),
    'unterminated quote': filled('a', `${token}="`),
    octets: filled('\xff', token),
    'UTF-8': filled('\xc3\xa9', token),
    dots: filled('a.', token),
    'dots only': filled('.', token),
    colons: filled(':', token),
    digits: filled('1', token),
    hyphens: filled('a-', token),
    slashes: filled('/', token),
    'at signs': filled('a@', 'http://'),
    brackets: filled('[', token),
    'less-than signs': filled('<', token),
    ampersands: filled('a=b&', `${token}?`),
    secrets: filled('password=', token),
    base64: filled('eyJ', token)
  }
}

interface Call { path: string, method?: string, headers: Record<string, string> }

const CALLS: Record<string, Call> = {
  page: { path: '/page', headers: { accept: 'text/html' } },
  missing: { path: '/missing', headers: { accept: 'text/html' } },
  fail: { path: '/fail', headers: { accept: 'application/json' } },
  secure: { path: '/secure', headers: { accept: 'text/html' } },
  basic: { path: '/basic', headers: {} },
  bearer: { path: '/bearer', headers: {} },
  cached: { path: '/cached', headers: {} },
  preflight: {
    path: '/cors', method: 'OPTIONS', headers: { origin: 'https://example.com', 'access-control-request-method': 'PUT' }
  },
  body: { path: '/body', method: 'POST', headers: { 'content-type': 'text/plain' } }
}

const MODES = [
  ['service', 'production'], ['service', 'development'], ['package', 'production'], ['package', 'development']
] as const

const only = process.argv.slice(2)
const { MODES: modes } = process.env
for (const [product, environment] of MODES) {
  const mode = `${product}-${environment}`
  if (modes !== undefined && !modes.split(',').includes(mode)) continue
  const server = fork(join(import.meta.dirname, 'header-cost-server.ts'), {
    execArgv: ['--import=tsx'], env: { ...process.env, PRODUCT: product, NODE_ENV: environment }
  })
  const [{ port }] = await once(server, 'message') as [{ port: number }]
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  for (const call of Object.values(CALLS)) for (let i = 0; i < 20; i++) await send(port, agent, call, {})
  for (const [header, token] of Object.entries(TOKENS)) {
    if (only.length > 0 && !only.includes(header)) continue
    for (const [name, call] of Object.entries(CALLS)) {
      for (const [shape, value] of Object.entries(shapesOf(token))) {
        const cost = await costOf(server, port, agent, call, header, value)
        if (cost > LIMIT) console.log(`${mode}: ${header}, ${shape}, ${name}: ${cost.toFixed(1)} ms`)
      }
    }
  }
  console.log(`${mode}: measured`)
  agent.destroy()
  server.disconnect()
}

async function costOf (
  server: ChildProcess, port: number, agent: Agent, call: Call, header: string, value: string
): Promise<number> {
  const costs: number[] = []
  for (let i = 0; i < RUNS; i++) {
    const short = `${value.slice(0, 40)}${i}`
    const base = await cpuOf(server, () => send(port, agent, call, { [header]: short, 'x-inert': 'z'.repeat(SIZE) }))
    const hostile = await cpuOf(server, () => send(port, agent, call, { [header]: value + String(i) }))
    costs.push(hostile - base)
    // Values far below the limit need no further runs.
    if (i === 1 && Math.max(...costs) < LIMIT / 2) break
  }
  return costs.sort((a, b) => a - b)[Math.floor((costs.length - 1) / 2)] as number
}

async function cpuOf (server: ChildProcess, act: () => Promise<void>): Promise<number> {
  const before = await cpu(server)
  await act()
  return await cpu(server) - before
}

async function cpu (server: ChildProcess): Promise<number> {
  const answer = once(server, 'message')
  server.send('cpu')
  return (await answer as [{ cpu: number }])[0].cpu
}

function send (
  port: number, agent: Agent, { path, method = 'GET', headers }: Call, added: Record<string, string>
): Promise<void> {
  const { query, ...others } = added
  const target = query === undefined
    ? path
    : `${path}?${encodeURI(query).replaceAll('%25', '%').replaceAll('#', '')}`.slice(0, SIZE)
  return new Promise((resolve) => {
    const call = request({
      port,
      agent,
      method,
      path: target,
      headers: { ...headers, ...others },
      ...(others.host !== undefined && { setHost: false })
    }, (response) => {
      response.resume().on('end', resolve).on('error', resolve)
    })
    call.on('error', () => resolve())
    call.end(method === 'POST' ? 'text' : undefined)
  })
}
