import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { hindsight } from '../../../src/hindsight.js'
import type { HindsightOptions } from '../../../src/options.js'
import { build, get, listen, statusOf } from '../../support/app.js'
import { connectTo, freePorts } from '../../support/ports.js'
import { findProgram, missing, serverFolder, startServer } from '../../support/server-process.js'

const SECRET = 'the inner workings'
const PUBLIC = '203.0.113.9'
const PATHS = ['/boom', '/ok', '/page', '/nix', '/_profiler/', '/_profiler/search.json']

/** Directives of a `location`, and whether a client on the loopback interface sees debug pages behind them. */
const CONFIGURATIONS: Record<string, [directives: string, open: boolean]> = {
  'no header at all': ['', false],
  'the host alone': ['proxy_set_header Host $host;', false],
  'no host': ['proxy_set_header Host "";', false],
  'X-Forwarded-For': ['proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;', false],
  'X-Forwarded-For with the host': [
    'proxy_set_header Host $host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;', false
  ],
  'X-Real-IP': ['proxy_set_header X-Real-IP $remote_addr;', false],
  'the usual headers': [
    'proxy_set_header Host $http_host; proxy_set_header X-Real-IP $remote_addr; ' +
    'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;', false
  ],
  Forwarded: ['proxy_set_header Forwarded "for=$remote_addr;host=$host;proto=$scheme";', false],
  'X-Forwarded-For over HTTP/1.1': ['proxy_http_version 1.1; proxy_set_header X-Forwarded-For $remote_addr;', true],
  'X-Real-IP over HTTP/1.1': ['proxy_http_version 1.1; proxy_set_header X-Real-IP $remote_addr;', true],
  'Forwarded over HTTP/1.1': ['proxy_http_version 1.1; proxy_set_header Forwarded "for=$remote_addr;host=$host";', true],
  'the host over HTTP/1.1': ['proxy_http_version 1.1; proxy_set_header Host $host;', true],
  'X-Forwarded-Host over HTTP/1.1': ['proxy_http_version 1.1; proxy_set_header X-Forwarded-Host $host;', true],
  'Via over HTTP/1.1': ['proxy_http_version 1.1; proxy_set_header Via "1.1 $host";', true]
}

const MODES: Record<string, (t: Test, options?: HindsightOptions) => Promise<FastifyInstance>> = {
  service: (t, options) => build(t, options, routes),
  package: async (t, options) => {
    const app = Fastify({ pluginTimeout: 60_000 })
    t.teardown(() => app.close())
    await app.register(hindsight, { debug: true, profiler: { storage: 'memory' }, ...options })
    routes(app as unknown as FastifyInstance)
    await app.ready()
    return app as unknown as FastifyInstance
  }
}

function routes (app: FastifyInstance): void {
  app.get('/ok', () => 'x')
  app.get('/boom', () => { throw new Error(SECRET) })
  app.get('/page', (_request, reply) => reply.type('text/html').send('<!doctype html><title>x</title><body>x</body>'))
}

/**
 * Starts nginx with one server for each text, which is the content of its `server` block without `listen`, until the end of the test; their ports on
 * 127.0.0.1. Null, and the test is skipped, where there is no nginx.
 */
async function nginx (t: Test, servers: string[]): Promise<number[] | null> {
  const { NGINX } = process.env
  // A configured path that is wrong must not be replaced silently by another program.
  const program = NGINX ? existsSync(NGINX) ? NGINX : null : findProgram('nginx', ['/usr/sbin'])
  if (program === null) return missing(t, 'nginx', 'no nginx: install it (on Debian: apt-get install nginx), or put its path into NGINX')
  const folder = serverFolder(t, 'nginx')
  const ports = await freePorts(servers.length)
  writeFileSync(join(folder, 'nginx.conf'), `
    daemon off;
    master_process off;
    pid nginx.pid;
    error_log stderr;
    events {}
    http {
      access_log off;
      ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`).join(' ')}
      ${servers.map((server, i) => `server { listen 127.0.0.1:${ports[i]}; ${server} }`).join('\n      ')}
    }
  `)
  const isReady = async (): Promise<unknown> => await Promise.all(ports.map(connectTo))
  await startServer(t, program, ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], { folder, isReady })
  return ports
}

/** A server in which the header `X-Client` is the address of the client, as if it had connected from there. */
function server (port: number, directives: string): string {
  return 'set_real_ip_from 127.0.0.1; real_ip_header X-Client; location / { ' +
    `proxy_pass http://127.0.0.1:${port}; proxy_set_header X-Client ""; ${directives} }`
}

/** Whether an answer has anything that is for developers; a message of the application itself is not. */
function isShown (answer: string): boolean {
  return /^x-debug|hindsight|reverse-proxy\.test|node_modules|_wdt|"profiles"/im.test(answer)
}

async function shownOf (port: number, headers: Record<string, string>): Promise<string[]> {
  const shown: string[] = []
  for (const path of PATHS) {
    const answer = await get(port, path, { Accept: 'text/html', ...headers })
    if (!(statusOf(answer) >= 200)) throw new Error(`${path} is not answered: ${answer}`)
    if (isShown(answer)) shown.push(path)
  }
  return shown
}

for (const [mode, start] of Object.entries(MODES)) {
  t.test(`${mode}: access behind a reverse proxy on the same host depends on its headers`, async (t) => {
    const app = await start(t)
    const upstream = await listen(app)
    const ports = await nginx(t, Object.values(CONFIGURATIONS).map(([directives]) => server(upstream, directives)))
    if (ports === null) return
    t.strictSame(await shownOf(upstream, {}), PATHS, 'without the proxy')
    for (const [i, [name, [, isOpen]]] of Object.entries(CONFIGURATIONS).entries()) {
      const port = ports[i] as number
      const expected = isOpen ? PATHS : []
      t.strictSame(await shownOf(port, { Host: 'localhost' }), expected, `${name}: a client on the loopback interface`)
      const host = { Host: 'shop.example' }
      t.strictSame(await shownOf(port, { ...host, 'X-Client': PUBLIC }), [], `${name}: a public client`)
      t.strictSame(await shownOf(port, { ...host, 'X-Client': '2001:db8::9' }), [], `${name}: a public IPv6 client`)
      // A proxy that sets no header sends those of the client on.
      const forged = {
        'X-Client': PUBLIC, 'X-Forwarded-For': '127.0.0.1', 'X-Real-IP': '127.0.0.1', Forwarded: 'for=127.0.0.1', Via: '1.1 a'
      }
      t.strictSame(await shownOf(port, { ...host, ...forged }), [], `${name}: a public client that names another`)
    }
  })

  t.test(`${mode}: access behind a trusted proxy depends on client and host`, async (t) => {
    const [directives] = CONFIGURATIONS['the usual headers'] as [string, boolean]
    for (const [options, expected] of [
      [{}, false],
      [{ debugClients: [PUBLIC] }, false],
      [{ debugHosts: ['shop.example'] }, false],
      [{ debugClients: [PUBLIC], debugHosts: ['shop.example'] }, true]
    ] as Array<[HindsightOptions, boolean]>) {
      const app = await start(t, { trustedProxies: ['127.0.0.1'], ...options })
      const ports = await nginx(t, [server(await listen(app), directives)])
      if (ports === null) return
      const shown = await shownOf(ports[0] as number, { Host: 'shop.example', 'X-Client': PUBLIC })
      t.equal(shown.length > 0, expected, `a public client with ${JSON.stringify(options)}`)
      t.ok((await shownOf(ports[0] as number, { Host: 'localhost' })).length > 0, 'a client on the loopback interface')
      const named = { Host: 'shop.example', 'X-Client': PUBLIC, 'X-Forwarded-For': '198.51.100.7' }
      t.strictSame(await shownOf(ports[0] as number, named), [], 'a client that names another one')
    }
  })

  t.test(`${mode}: a proxy that names no client has access, which is the documented limit`, async (t) => {
    const upstream = await listen(await start(t))
    const ports = await nginx(t, [server(upstream, 'proxy_http_version 1.1;')])
    if (ports === null) return
    const client = { Host: 'shop.example', 'X-Client': PUBLIC }
    t.strictSame(await shownOf(ports[0] as number, client), PATHS, 'over HTTP/1.1 their requests are those of a client')
  })
}
