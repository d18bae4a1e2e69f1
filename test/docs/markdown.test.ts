import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { executeCommand } from '../../packages/hindsight/src/cli/run.js'
import { testdir } from '../../packages/hindsight/test/support/folder.js'
import { build, profileOf } from '../../packages/hindsight/test/support/app.js'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/how-to/markdown.md'), 'utf8')

t.test('the four ways of docs/how-to/markdown.md have the same result', async (t) => {
  const dataDir = testdir(t)
  const app = await build(t, { profiler: { storage: 'sqlite', dataDir } }, (app) => { app.get('/', async () => { throw new Error('it failed') }) })
  const { token } = await profileOf(app, await app.inject('/'))
  const [, block = ''] = /```sh\n([^]*?)```/.exec(PAGE) ?? []
  const commands = block.trim().split('\n')
  t.equal(commands.length, 4)
  const answers: string[] = []
  for (const command of commands) {
    if (command.startsWith('curl')) {
      const [, url = ''] = /'http:\/\/127\.0\.0\.1:3000([^']+)'/.exec(command) ?? []
      const [, accept] = /-H 'Accept: ([^']+)'/.exec(command) ?? []
      const headers = accept === undefined ? {} : { accept }
      const first = await app.inject({ url: url.replace('3fa94c', token), headers })
      t.equal(first.statusCode === 302, command.includes('-L'), command)
      answers.push(first.statusCode === 302 ? (await app.inject({ url: String(first.headers.location), headers })).body : first.body)
    } else {
      const out = new PassThrough()
      await app.hindsight.profiler.flush()
      t.equal(await executeCommand([...command.split(' ').slice(2), '--data-dir', dataDir], out, process.stderr), 0)
      answers.push(await text(out.end()))
    }
  }
  t.match(answers[0], '`it failed`')
  t.same(answers.map((answer) => answer === answers[0]), [true, true, true, true])
})
