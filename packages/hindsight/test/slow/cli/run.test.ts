import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { openStorage } from '../../../src/store/open.js'
import { recordOf } from '../../../src/store/summary.js'
import { failure, profile } from '../../parts/fixture.js'
import { testdir } from '../../support/folder.js'

t.test('tail follows the profiles of another process', async (t) => {
  const dataDir = testdir(t)
  const store = await openStorage({ dataDir })
  t.teardown(() => store.close())
  await store.put([recordOf(profile('000001'))])
  const child = spawn(
    process.execPath, [join(import.meta.dirname, '../../../bin/fastify-hindsight.js'), 'tail', '--json', '--error', '1', '--data-dir', dataDir],
    { stdio: ['ignore', 'pipe', 'inherit'] }
  )
  t.teardown(() => child.kill('SIGKILL'))
  let printed = ''
  let count = 1
  const more = setInterval(() => {
    store.put([failure(String(++count).padStart(6, '0')), profile(`0000${10 + count}`)].map((one) => recordOf(one)))
  }, 200)
  t.teardown(() => clearInterval(more))
  // The pipe stays open: the command ends by itself where it is closed.
  await new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk
      if (printed.split('\n').length > 2) resolve()
    })
  })
  for (const line of printed.split('\n').slice(0, 2)) t.match(JSON.parse(line), { error: true, token: String })
  const ended = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)))
  child.kill('SIGINT')
  t.equal(await ended, 'SIGINT')
})

t.test('a warning of the process is printed, and none that SQLite is experimental', async (t) => {
  // It warns when the command has replaced the listener of Node.js.
  const dataDir = t.testdir({
    'warn.cjs': `process.on('newListener', (event) => {
    if (event !== 'warning') return
    process.emitWarning('planted')
    process.emitWarning('new', 'ExperimentalWarning')
  })`
  })
  const store = await openStorage({ dataDir })
  await store.put([recordOf(profile('000001'))])
  await store.close()
  const command = join(import.meta.dirname, '../../../bin/fastify-hindsight.js')
  const args = ['--require', join(dataDir, 'warn.cjs'), command, 'list', '--data-dir', dataDir]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args)
  t.match(stdout, '000001')
  t.match(stderr, 'Warning: planted')
  t.notMatch(stderr, 'ExperimentalWarning')
})
