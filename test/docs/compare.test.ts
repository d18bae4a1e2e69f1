import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { executeCommand } from '../../packages/hindsight/src/cli/run.js'
import { openStorage } from '../../packages/hindsight/src/store/open.js'
import { recordOf } from '../../packages/hindsight/src/store/summary.js'
import { failure, profile } from '../../packages/hindsight/test/parts/fixture.js'
import { requested } from '../../packages/hindsight/test/reading/formats/stored.js'
import { testdir } from '../../packages/hindsight/test/support/folder.js'
import { build, listen } from '../../packages/hindsight/test/support/app.js'
import { snippetsOf } from '../../packages/hindsight/test/support/snippets.js'

const commands = snippetsOf('docs/how-to/compare.md').filter(({ language }) => language === 'sh').flatMap(({ code }) => code.trim().split('\n'))
  // packages/hindsight/test/slow/reading/formats/formats.source.test.ts runs the test that a command writes.
  .filter((command) => !command.startsWith('node '))
const route = { name: 'home', pattern: '/', params: {}, methods: ['GET'] }
const stored = [
  {
    ...requested(
      { target: '/', headers: { authorization: '******', 'content-type': 'application/json' }, body: { password: '******' } },
      { route, method: 'POST', time: '2026-01-01T00:00:00.000Z' }
    ),
    token: '3fa94c'
  },
  failure('0b11e2', { route, method: 'POST' }), profile('00000f')
]

t.test('each command of docs/how-to/compare.md has the described effect', async (t) => {
  t.ok(commands.length > 8, `${commands.length} commands`)
  const dataDir = testdir(t)
  const store = await openStorage({ dataDir })
  await store.put(stored.map(recordOf))
  await store.close()
  const app = await build({ declare: (app) => app.post('/', async () => 'x') })
  t.teardown(() => app.close())
  for (const one of stored) app.hindsight.profiler.save(one)
  const url = `http://127.0.0.1:${await listen(app)}`
  for (const command of commands) {
    const words = [...command.replace(/ > .*$/, '').matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''))
    if (words[0] === 'curl') {
      const address = words.at(-1)?.replace('http://127.0.0.1:3000', url) ?? ''
      t.match(await (await fetch(address, { headers: { accept: 'application/json' } })).json(), address.includes('differences')
        ? { token: '0b11e2', lastSuccess: { token: '3fa94c' }, differences: Array }
        : { a: { token: '3fa94c' }, b: { token: '0b11e2' }, sections: Array }, command)
      continue
    }
    const args = words.slice(2).map((word) => word.replace('http://127.0.0.1:3000', url).replace('…', 'x'))
      .map((word) => word === 'orders.test.mjs' ? join(dataDir, word) : word)
    const isReplay = args[0] === 'replay'
    const [out, err] = [new PassThrough(), new PassThrough()]
    const more = isReplay ? (args.includes('--url') ? ['--yes'] : ['--url', url]) : ['--data-dir', dataDir]
    const code = await executeCommand([...args, ...more], out.resume(), err)
    t.same([code, String(err.read() ?? '')], [args[0] === 'compare' ? 2 : 0, ''], command)
  }
})
