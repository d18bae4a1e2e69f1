import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import type { ServiceOptions } from '../../lib/options.js'
import { build, raw, listen, refusal } from '../../packages/hindsight/test/support/app.js'
import { endLimits } from '../../packages/hindsight/test/support/timers.js'

async function health (app: FastifyInstance, url: string, headers = {}): Promise<[status: number, body: string]> {
  const { statusCode, body } = await app.inject({ url, headers })
  return [statusCode, body]
}

t.test('the health routes exist only when the option is set', async (t) => {
  const app = await build()
  t.teardown(() => app.close())
  for (const url of ['/livez', '/readyz']) t.equal((await health(app, url))[0], 404)
})

t.test('health routes need no login and no host, set no cookie, and leave no profile and no log line', async (t) => {
  const lines: string[] = []
  const server: FastifyServerOptions = { logger: { level: 'info', stream: { write: (line: string) => { lines.push(line) } } } }
  const options: ServiceOptions = {
    health: true,
    trustedHosts: ['example.com'],
    security: {
      firewalls: [{ name: 'main', authenticators: { basic: true } }],
      providers: { users: { users: [] } },
      accessControl: [{ roles: 'ROLE_USER' }]
    }
  }
  for (const debug of [true, false]) {
    const app = await build({ ...options, debug, server })
    t.teardown(() => app.close())
    t.equal((await app.inject({ url: '/', headers: { host: 'example.com' } })).statusCode, 404)
    const quiet = lines.length
    for (const url of ['/livez', '/readyz', '/livez?x=1']) {
      const answer = await app.inject({ url, headers: { host: '10.0.0.7:3000', cookie: 'sessionId=abc' } })
      t.same([answer.statusCode, answer.body], [200, 'ok\n'], url)
      t.strictSame(
        Object.keys(answer.headers).sort(), ['cache-control', 'connection', 'content-length', 'content-type', 'date', 'x-content-type-options'],
        'no other header is sent'
      )
    }
    const head = await app.inject({ method: 'HEAD', url: '/readyz' })
    t.same([head.statusCode, head.body], [200, ''])
    t.equal(lines.length, quiet, 'no log line is written')
    if (debug) t.equal((await app.hindsight.profiler.search({ limit: 10, criteria: { url: 'z' } })).profiles.length, 0, 'no profile is stored')
  }
})

t.test('the health routes answer over a socket', async (t) => {
  const app = await build({ health: true })
  t.teardown(() => app.close())
  t.match(await raw(await listen(app), 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n'), { status: 200, text: 'ok\n' })
})

t.test('a service is not ready while its store of sessions is unavailable, and while it ends', async (t) => {
  let read: () => unknown = () => 'there'
  const none = (...args: unknown[]): void => (args.at(-1) as () => void)()
  const store = {
    set: none, destroy: none, get: (_id: string, done: (error: unknown) => void) => { Promise.resolve().then(read).then(() => done(null), done) }
  } as never
  const app = await build({ health: true, session: { secret: 'x'.repeat(32), store } })
  t.teardown(() => app.close())
  t.same(await health(app, '/readyz'), [200, 'ok\n'])
  const limits = endLimits(t, 2_000)
  for (const [name, unavailable] of [
    ['rejects', async () => { throw new Error('the password is hunter2') }], ['does not answer', () => new Promise(() => {})]
  ] as Array<[string, () => unknown]>) {
    read = unavailable
    while ((await health(app, '/readyz'))[0] === 200) await sleep(50)
    t.same(await health(app, '/readyz'), [503, 'unavailable\n'], name)
    t.same(await health(app, '/livez'), [200, 'ok\n'], 'the process answers')
    read = () => 'there'
    while ((await health(app, '/readyz'))[0] === 503) await sleep(50)
  }
  t.ok(limits.every((limit) => limit === 2_000), 'the limit of each check')
  app.hindsight.beginClosing()
  t.same(await health(app, '/readyz'), [503, 'unavailable\n'])
  t.same(await health(app, '/livez'), [200, 'ok\n'])
})

t.test('paths and checks of the application stop the start', async (t) => {
  t.equal(await refusal({ health: { live: '/x' } as never }), 'Option "health" must be a boolean, not an object')
})
