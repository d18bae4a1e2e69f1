import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { promisify } from 'node:util'
import Fastify, { type FastifyInstance, type FastifyPluginAsync } from 'fastify'
import t, { type Test } from 'tap'
import { options as serverOptions } from '../../../app/app.js'
import { executeCommand } from '../../../packages/hindsight/src/cli/run.js'
import { hindsight } from '../../../packages/hindsight/src/hindsight.js'
import { testdir } from '../../../packages/hindsight/test/support/folder.js'
import { build, listen, build as buildTested, profileOf } from '../../../packages/hindsight/test/support/app.js'
import { wordsOf } from '../../../packages/hindsight/test/support/shell.js'
import { snippetsOf, type Snippet } from '../../../packages/hindsight/test/support/snippets.js'

const shown = (page: string): Snippet => {
  const found = snippetsOf(page).find(({ language }) => language === '')
  if (found === undefined) throw new Error(`${page} shows nothing`)
  return found
}

t.test('refusals.md: the record of headers has these keys and no other', async (t) => {
  const { code } = shown('docs/reference/refusals.md')
  const app = Fastify() as unknown as FastifyInstance
  t.teardown(() => app.close())
  app.addHook('onRequest', async (_request, reply) => { reply.header('x-before', '1') })
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  app.get('/', {
    preValidation: async (_request, reply) => { reply.header('x-route', '1') }
  }, async (_request, reply) => reply.header('x-route', '2').header('x-mine', '1').header('x-mine', '2').send('x'))
  app.get('/plain', async () => 'x')
  app.get('/both', { preHandler: async () => {} }, async (_request, reply) => reply.header('x-mine', '1').send('x'))
  app.get('/broken', async () => { throw new Error('no') })
  app.setNotFoundHandler(async (_request, reply) => reply.header('x-missing', '1').send('x'))
  const changes: Array<Record<string, unknown>> = []
  for (const url of ['/', '/plain', '/both', '/broken', '/missing']) {
    const { collectors: { headers } } = await profileOf(app, await app.inject({ url, headers: { accept: 'text/html' } }))
    t.same(Object.keys(headers as object), ['changes'])
    changes.push(...(headers as { changes: Array<Record<string, unknown>> }).changes)
  }
  const [keys = '', codes = ''] = code.split('"by":')
  const keysIn = (part: string): string[] => [...part.matchAll(/"([\w -]+)"(?=[?:,\s])/g)].map(([, key = '']) => key)
  t.same([...new Set(changes.flatMap((change) => Object.keys(change)))].sort(), [...keysIn(keys).slice(1), 'by', 'source'].sort())
  t.same([...new Set(changes.map(({ by }) => String(by)))].sort(), keysIn(codes).filter((word) => word !== 'source' && word !== 'file:line').sort())
  t.match(changes, [{ name: 'x-before', by: 'before Hindsight' }, { name: 'x-route', from: null, to: '1', by: 'route hooks' }])
  t.match(
    changes.find(({ name, by }) => name === 'x-route' && by === 'handler'), { from: '1', to: '2', source: /shown\.test\.ts:\d+$/ },
    'what it was before and after'
  )
  t.match(changes.filter(({ name }) => name === 'x-mine'), [{ from: null, to: '2', by: 'handler' }], 'one change of one function')
})

t.test('production-failures.md: the reference of a short page is the token of its profile', async (t) => {
  const { code } = shown('docs/how-to/production-failures.md')
  const app = await build({ debug: false, profiler: 'errors', declare: (app) => app.get('/', async () => { throw new Error('no') }) })
  t.teardown(() => app.close())
  const { body } = await app.inject({ url: '/', headers: { accept: 'text/html' } })
  const [, token = ''] = /Reference: (?:<[^>]+>)*([0-9a-f]{6})/.exec(body) ?? []
  t.ok(token !== '', body)
  t.match(code, /^Reference: [0-9a-f]{6}\n$/)
  t.equal((await app.hindsight.profiler.find(token))?.status, 500)
})

/** The commands in the pieces of a page, each as its words. */
function commands (page: string): string[][] {
  return snippetsOf(page).filter(({ language }) => language === 'sh')
    .flatMap(({ code }) => code.split('\n').filter((line) => line.startsWith('npx fastify-hindsight ')))
    .map((line) => wordsOf(line).slice(2))
}

// These are for as long as somebody looks, for a terminal, or loaded from elsewhere: their own tests run them.
const ELSEWHERE = new Set(['tail', 'mcp', 'lifecycle', 'compare', 'to', 'replay'])

for (const page of ['docs/how-to/blocked.md', 'examples/plugin-js/README.md', 'examples/plugin-ts/README.md']) {
  t.test(`each command of ${page} has the described effect`, async (t) => {
    const dataDir = testdir(t)
    const app = await buildTested(t, { profiler: { storage: 'sqlite', dataDir } }, (app) => app.get('/', async () => { throw new Error('no') }))
    const { headers } = await app.inject({ url: '/', headers: { 'x-hindsight-cpu': '1' } })
    await app.hindsight.profiler.flush()
    await app.close()
    process.chdir(dataDir)
    t.teardown(() => process.chdir(join(import.meta.dirname, '../../..')))
    const lines = commands(page).filter(([name = '']) => !ELSEWHERE.has(name))
    t.ok(lines.length > 0)
    for (const words of lines) {
      const [out, err] = [new PassThrough(), new PassThrough()]
      out.setEncoding('utf8')
      let said = ''
      out.on('data', (text: string) => { said += text })
      const args = words.map((word) => word.replace('3fa94c', String(headers['x-debug-token'])))
      t.same([await executeCommand([...args, '--data-dir', dataDir], out, err), String(err.read() ?? '')], [0, ''], words.join(' '))
      t.ok(said.length > 10, said)
    }
  })
}

t.test('the commands of the tour of examples/articles print the shown output', async (t) => {
  const place = new URL('../../../examples/articles/app.ts', import.meta.url).href
  const { default: articles } = await import(place) as { default: FastifyPluginAsync<{ service: object }> }
  const app = Fastify({ ...serverOptions, logger: { level: 'silent' }, pluginTimeout: 60_000 }) as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(
    articles, { service: { debug: true, session: { secret: 'a secret of the tests, thirty-two characters and more' }, profiler: { storage: 'memory' } } }
  )
  const port = await listen(app)
  const printed: string[] = []
  for (const { code } of snippetsOf('examples/articles/README.md').filter(({ code }) => code.startsWith('curl '))) {
    printed.push(await shell(t, code.replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)))
  }
  for (const [i, wanted] of [
    /^location: .*\/fr\b[^]*"source":"accept-language"/i,
    /^link: [^]*rel="?next[^]*limit/i,
    /^HTTP\/1.1 304 [^]*etag: "1\.1"/i,
    /^403\nthe author is grace\n$/,
    /^HTTP\/1.1 201 [^]*location: /i,
    /^"name":"send mail"$/m,
    /^access-control-allow-origin: \*$/im,
    /^# /,
    /^N\+1: `select [^`]+ where [^`]+` \d+ times from \S*store\.ts:\d+/
  ].entries()) t.match(printed[i], wanted, `piece ${i + 1}`)
  t.equal(printed.length, 9)
})

async function shell (t: Test, code: string): Promise<string> {
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', code])
  t.equal(stderr, '')
  return stdout.replaceAll('\r', '')
}
