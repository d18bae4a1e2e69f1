import t, { type Test } from 'tap'
import { build, listen, profileOf, ran, type BuildOptions } from '../../packages/hindsight/test/support/app.js'
import { METHODS, profilerRoutes, send } from '../../packages/hindsight/test/support/profiler-routes.js'

interface Line { level: number, msg: string, req?: { url: string }, res?: { statusCode: number } }

async function start (t: Test, declare: BuildOptions['declare'] = () => {}) {
  const lines: Line[] = []
  const stream = { write: (line: string) => { lines.push(JSON.parse(line) as Line) } }
  const app = await build(t, { server: { logger: { level: 'info', stream } } }, (app) => {
    app.get('/orders', async () => ({ orders: [] }))
    return declare(app)
  })
  const port = await listen(app)
  const { headers } = await send(port, 'GET', '/orders')
  const { token } = await profileOf(app, { headers })
  /** The answer to a request, with the lines that it left and its profile, if it has one. */
  async function exchange (method: string, path: string, sent: Record<string, string> = {}) {
    await app.hindsight.profiler.flush()
    const [before, number] = [lines.length, (await app.hindsight.profiler.search({ limit: 1_000 })).profiles.length]
    const answer = await send(port, method, path, sent)
    await app.hindsight.profiler.flush()
    const { profiles } = await app.hindsight.profiler.search({ limit: 1_000 })
    return { ...answer, stored: profiles.length - number, lines: lines.slice(before) }
  }
  return { app, port, token, exchange }
}

/** The names of the headers that do not depend on the connection or the content. */
function namesOf (headers: object): string[] {
  return Object.keys(headers).filter((name) => !/^(?:connection|keep-alive|vary|content-length)$/.test(name)).sort()
}

t.test('every method to every route of the profiler, over the network', async (t) => {
  const { app, token, exchange } = await start(t)
  const refused = await exchange('POST', '/orders')
  const events = ran((await profileOf(app, refused)).events)
  for (const [path, allowed] of await profilerRoutes(token)) {
    for (const method of METHODS) {
      const line = `${method} ${path}`
      const { url, status, headers, body, stored, lines } = await exchange(method, path)
      t.equal(headers['x-content-type-options'], 'nosniff', line)
      if (status < 400) {
        t.same([stored, lines], [0, []], `${line}: ${status} is neither stored nor logged`)
        t.equal(headers['x-debug-token'], undefined, line)
      } else {
        t.equal(stored, 1, `${line}: ${status} is stored`)
        t.ok(lines.length > 0, `${line}: ${status} is logged`)
      }
      if (path === '/_profiler/mcp') {
        t.equal(status === 405 && headers.allow === 'POST', method !== 'POST', `${line}: it refuses other methods itself`)
        continue
      }
      if (allowed.includes(method) || (method === 'HEAD' && allowed.includes('GET'))) {
        t.not(status, 405, line)
        continue
      }
      t.same([status, headers.allow], [405, allowed.join(', ')], line)
      t.same(namesOf(headers), namesOf(refused.headers), `${line}: the headers of any such answer`)
      const message = `No route found for "${method} ${url}": Method Not Allowed (Allow: ${allowed.join(', ')})`
      if (method !== 'HEAD') t.ok(body.includes(`<title>${message.replaceAll('"', '&#34;')}`), `${line}: ${body.slice(0, 300)}`)
      const profile = await profileOf(app, { headers })
      t.equal(profile.exceptions.at(-1)?.message, message, line)
      t.same(ran(profile.events), events, `${line}: the listeners of any such request`)
    }
  }
})

t.test('an unknown path below /_profiler/ and /_wdt/ is not found like any other', async (t) => {
  const { app, exchange } = await start(t)
  const other = await exchange('GET', '/nowhere')
  const events = ran((await profileOf(app, other)).events)
  for (const path of ['/_profiler/nix/nix/nix', '/_wdt/nix/nix', '/_error/200']) {
    for (const method of METHODS) {
      const { url, status, headers, body, stored, lines } = await exchange(method, path)
      t.same([status, headers.allow, stored], [404, undefined, 1], `${method} ${path}`)
      t.ok(lines.some(({ level }) => level >= 30), 'it is logged')
      t.same(namesOf(headers), namesOf(other.headers), `${method} ${path}`)
      if (method !== 'HEAD') t.ok(body.includes(`<title>No route found for &#34;${method} ${url}&#34;`), body.slice(0, 300))
      t.same(ran((await profileOf(app, { headers })).events), events, `${method} ${path}`)
    }
  }
})

t.test('a guard at the root protects the profiler: its refusals are logged and stored', async (t) => {
  const { app, token, exchange } = await start(t, (app) => {
    app.addHook('onRequest', async function guard (request, reply) {
      if (request.headers['x-key'] !== 'k' && request.url.startsWith('/_')) return await reply.code(401).send({ error: 'A key is required.' })
    })
  })
  for (const [path, [method = 'GET']] of await profilerRoutes(token)) {
    const { status, headers, body, stored, lines } = await exchange(method, path)
    t.same([status, body, stored], [401, '{"error":"A key is required."}', 1], path)
    t.ok(lines.some(({ res }) => res?.statusCode === 401), `${path} is logged: ${JSON.stringify(lines)}`)
    t.equal((await profileOf(app, { headers })).status, 401, path)
  }
  const { status, stored, lines } = await exchange('GET', `/_profiler/${token}`, { 'x-key': 'k' })
  t.same([status, stored, lines], [200, 0, []])
})
