import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { keptBy } from '../../plugins/kernel/fastify-symbols.js'
import { build } from '../support/app.js'

/** How many hooks a request of a route passes ahead of its handler, as it was asked last. */
const passed = new Map<string, number>()

function declare (app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    passed.set(request.url, keptBy<{ preHandler: unknown[] | null }>(request, 'fastify.context')?.preHandler?.length ?? 0)
  })
  app.get('/plain', async () => 'plain')
  app.get('/params/:id', { config: { params: { id: 'int' } } }, async ({ params }) => ({ id: (params as { id: unknown }).id }))
  app.get('/cache', { config: { cache: { public: true, maxAge: 60, etag: () => 'x' } } }, async () => 'cached')
  app.get('/pages', { config: { pagination: true } }, async ({ pagination }) => pagination)
  app.get('/nothing', { config: { name: 'nothing' } }, async ({ pagination }) => ({ pagination }))
}

const REQUESTS = [
  { url: '/plain' },
  { url: '/params/7' },
  { url: '/params/seven' },
  { url: '/cache' },
  { url: '/cache', headers: { 'if-none-match': '"x"' } },
  { url: '/cache', headers: { 'if-match': '"y"' } },
  { url: '/pages' },
  { url: '/pages?page=2&limit=5' },
  { url: '/pages?page=none' },
  { url: '/nothing?page=none' },
  { url: '/nowhere' }
] as const

// Of what is told in debug mode alone.
const OF_DEBUG = new Set(['x-debug-token', 'x-debug-token-link', 'x-debug-exception', 'x-debug-exception-file', 'content-security-policy', 'content-length', 'x-robots-tag', 'date'])

async function answers (app: FastifyInstance): Promise<object[]> {
  const all: object[] = []
  for (const request of REQUESTS) {
    const { statusCode, headers, payload } = await app.inject({ ...request, headers: { accept: 'application/json', ...('headers' in request && request.headers) } })
    all.push({ ...request, statusCode, headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_DEBUG.has(name))), ...(statusCode < 400 && { payload }) })
  }
  return all
}

t.test('what is passed over for a route changes none of its answers, be it the first or the third', async (t) => {
  const observed = await build({ declare })
  const bare = await build({ declare, debug: false })
  const failures = await build({ declare, debug: false, profiler: { production: true, onlyExceptions: true } })
  t.teardown(async () => { await Promise.all([observed.close(), bare.close(), failures.close()]) })
  const wanted = await answers(observed)
  t.strictSame(wanted.map((answer) => (answer as { statusCode: number }).statusCode), [200, 200, 404, 200, 304, 412, 200, 200, 400, 200, 404])
  for (let time = 1; time <= 3; time++) {
    t.strictSame(await answers(observed), wanted, `in debug mode, time ${time}`)
    for (const app of [bare, failures]) {
      t.strictSame(await answers(app), wanted, `${app === bare ? 'in production' : 'where failures are profiled'}, time ${time}`)
      t.strictSame(['/plain', '/params/7', '/pages'].map((url) => passed.get(url)), [0, 1, 0], 'nothing ahead of a handler that declares nothing for it')
    }
  }
})
