import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { FastifyInstance, FastifyServerOptions } from 'fastify'
import type { HindsightOptions } from '../../app/options.js'
import { build, raw, listen, refusal } from '../support/app.js'

async function health (app: FastifyInstance, url: string, headers = {}): Promise<[status: number, body: string]> {
  const { statusCode, body } = await app.inject({ url, headers })
  return [statusCode, body]
}

t.test('there are none unless they are wanted', async (t) => {
  const app = await build()
  t.teardown(() => app.close())
  for (const url of ['/livez', '/readyz']) t.equal((await health(app, url))[0], 404)
})

t.test('they need no login and no host, set no cookie, leave no profile and no line', async (t) => {
  const lines: string[] = []
  const server: FastifyServerOptions = { logger: { level: 'info', stream: { write: (line: string) => { lines.push(line) } } } }
  const options: HindsightOptions = {
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
      t.strictSame(Object.keys(answer.headers).sort(), ['cache-control', 'connection', 'content-length', 'content-type', 'date', 'x-content-type-options'], 'it says nothing else')
    }
    const head = await app.inject({ method: 'HEAD', url: '/readyz' })
    t.same([head.statusCode, head.body], [200, ''])
    t.equal(lines.length, quiet, 'no line')
    if (debug) t.equal((await app.hindsight.profiler.search({ limit: 10, criteria: { url: 'z' } })).profiles.length, 0, 'no profile')
  }
})

t.test('paths of one’s own', async (t) => {
  const app = await build({ health: { live: '/up', ready: '/ready' } })
  t.teardown(() => app.close())
  t.same(await Promise.all(['/up', '/ready', '/livez'].map(async (url) => (await health(app, url))[0])), [200, 200, 404])
  const answer = await raw(await listen(app), 'GET /up HTTP/1.1\r\nHost: localhost\r\n\r\n')
  t.match(answer, { status: 200, text: 'ok\n' })
})

t.test('not ready is what needs somebody who is away, hangs, or ends', async (t) => {
  let need: () => unknown = () => 'there'
  let asked = 0
  const app = await build({ health: { needs: [() => { asked++; return need() }] } })
  t.teardown(() => app.close())
  t.same(await health(app, '/readyz'), [200, 'ok\n'])
  for (let i = 0; i < 20; i++) await health(app, '/readyz')
  t.equal(asked, 1, 'asked once a second at most')
  for (const [name, away] of [
    ['throws', () => { throw new Error('the password is hunter2') }],
    ['rejects', async () => { throw new Error('away') }],
    ['hangs', () => new Promise(() => {})]
  ] as Array<[string, () => unknown]>) {
    need = away
    for (;;) {
      const answer = await health(app, '/readyz')
      if (answer[0] === 200) {
        await sleep(50)
        continue
      }
      t.same(answer, [503, 'unavailable\n'], name)
      break
    }
    t.same(await health(app, '/livez'), [200, 'ok\n'], 'but it lives')
    need = () => 'there'
    while ((await health(app, '/readyz'))[0] === 503) await sleep(50)
  }
  app.hindsight.isClosing = true
  t.same(await health(app, '/readyz'), [503, 'unavailable\n'])
  t.same(await health(app, '/livez'), [200, 'ok\n'])
})

for (const [options, message] of [
  [{ health: { live: 'up' } }, 'health.live (HEALTH): "up" is no path, which begins with a slash'],
  [{ health: { live: '/x', ready: '/x' } }, 'health (HEALTH): live and ready are both "/x"'],
  [{ health: { red: '/x' } }, 'Unknown option "health.red"; known are live, ready, needs']
] as const) {
  t.test(`${JSON.stringify(options)} stops the start`, async (t) => {
    t.equal(await refusal(options), message)
  })
}
