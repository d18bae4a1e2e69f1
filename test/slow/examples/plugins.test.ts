import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import type { Part } from '../../../packages/hindsight/src/parts/part.js'
import { countOf, labelOf, renderPanel } from '../../../packages/hindsight/src/parts/read.js'
import type { Profile } from '../../../packages/hindsight/src/store/profile.js'
import { testdir } from '../../../packages/hindsight/test/support/folder.js'
import { pageProblems } from '../../../packages/hindsight/test/support/snippets.js'
import { run, scriptCommand } from '../../../packages/hindsight/test/support/process.js'

// The examples merge types of their own into Fastify's: each is a program of its own to the compiler.
const { build } = await import(new URL('../../../examples/plugin-ts/app.ts', import.meta.url).href) as { build: (options: object) => Promise<FastifyInstance> }

async function profileOf (app: FastifyInstance, { headers }: { headers: Record<string, unknown> }): Promise<Profile> {
  const profile = await app.hindsight.profiler.find(String(headers['x-debug-token']))
  if (profile === undefined) throw new Error('there is no profile')
  return profile
}

async function start (t: Test): Promise<FastifyInstance> {
  const app = await build({ debug: true, profiler: { storage: 'memory' } })
  t.teardown(() => app.close())
  return app
}

t.test('plugin-ts: hook, routes and the masked header work', async (t) => {
  const app = await start(t)
  const answer = await app.inject({ url: '/', headers: { host: 'blue.example.test' } })
  t.same(answer.json(), { tenant: 'blue' })
  t.equal(answer.headers['x-tenant'], 'blue')
  const found = await app.inject({ url: '/orders/1', headers: { 'x-badge': 'blue-7' } })
  t.match([found.statusCode, found.json()], [200, { id: '1', total: 12.5 }])
  const stored = JSON.stringify(await profileOf(app, found))
  t.match(stored, 'x-badge')
  t.notMatch(stored, 'blue-7')
  for (const id of ['3', 'constructor']) t.equal((await app.inject(`/orders/${id}`)).statusCode, 404, id)
})

t.test('plugin-ts: the panel of the collector shows the orders of the tenant', async (t) => {
  const app = await start(t)
  const profile = await profileOf(app, await app.inject({ url: '/orders/1', headers: { host: 'blue.test' } }))
  const { parts } = app.hindsight
  const part = parts.find(({ name }) => name === 'looked') as Part
  t.same([labelOf(part), countOf(part, profile), String(renderPanel(part, profile, { query: {}, editor: null, parts }))],
    ['Orders', 1, '<p>Of the tenant blue:</p><ul><li>1</li></ul>'])
  t.ok(profile.events.some(({ listener }) => listener === 'readTenant'))
})

for (const [name, script] of [['plugin-js', 'example:js'], ['plugin-ts', 'example:ts']] as const) {
  t.test(`${name} starts with its command, and answers`, async (t) => {
    const { args, env } = scriptCommand(script)
    const started = run(t, { args, env: { ...env, DATA_DIR: testdir(t) } })
    const [, port] = await started.said(/^http:\/\/127\.0\.0\.1:(\d+)$/m)
    const answer = await fetch(`http://127.0.0.1:${port}/`)
    t.equal(answer.status, 200)
    const link = String(answer.headers.get('x-debug-token-link'))
    t.match(link, /\/_profiler\/[0-9a-f]{6}$/)
    t.equal((await fetch(link, { headers: { accept: 'text/html' } })).status, 200, 'the link leads to the profile')
    if (name !== 'plugin-js') return
    const failed = await fetch(`http://127.0.0.1:${port}/broken`, { headers: { accept: 'text/html' } })
    t.equal(failed.status, 500)
    t.match(await failed.text(), 'This is what a failure looks like')
    t.same([(await fetch(link)).status, (await fetch(`http://127.0.0.1:${port}/_profiler/`)).status], [200, 200])
  })
  t.test(`${name}: the examples of its page are valid`, async (t) => t.same(pageProblems(`examples/${name}/README.md`), []))
}

t.test('two-services starts with its command: one profile has what the other service did', async (t) => {
  const { args, env } = scriptCommand('example:services')
  const started = run(t, { args, env: { ...env, PORT: '0' } })
  const [, port] = await started.said(/^http:\/\/127\.0\.0\.1:(\d+)$/m)
  const answer = await fetch(`http://127.0.0.1:${port}/`)
  t.same(await answer.json(), { article: 'chair', stock: { article: 'chair', left: 2 } })
  const link = String(answer.headers.get('x-debug-token-link'))
  const page = await (await fetch(`${link}?panel=timeline&called=1`, { headers: { accept: 'text/html' } })).text()
  t.match(page, /GET \/stock\/chair[^]*handler GET \/stock\/:article[^]*nearly sold out/)
  const { collectors } = await (await fetch(`${link}.json`)).json() as Profile
  const [call] = (collectors['http-client'] as { calls: Array<{ profile: string }> }).calls
  for (let parent: unknown; parent !== link.slice(-6);) ({ parent } = await (await fetch(`${call?.profile}.json`)).json() as Profile)
  t.same(pageProblems('examples/two-services/README.md'), [])
})
