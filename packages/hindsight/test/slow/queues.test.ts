import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { cpSync, symlinkSync } from 'node:fs'
import t from 'tap'
import type { Profile } from '../../src/store/profile.js'
import { testdir } from '../support/folder.js'
import { connectTo, freePort } from '../support/ports.js'
import { findProgram, missing, serverFolder, startServer } from '../support/server-process.js'

const run = promisify(execFile)
const HERE = import.meta.dirname
const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
const PRELOAD = pathToFileURL(join(HERE, '../../src/register.ts')).href

interface Printed { result: object, request: string, profiles: Profile[] }

t.test('jobs of BullMQ and tasks of node-cron under the preload, without a change of the code', async (t) => {
  const program = findProgram('redis-server')
  if (program === null) return missing(t, 'Redis', 'no Redis: install it (on Debian: apt-get install redis-server)')
  const port = await freePort()
  const folder = serverFolder(t, 'redis')
  await startServer(t, program, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder], {
    folder, isReady: async () => await connectTo(port)
  })
  const project = testdir(t, {})
  cpSync(join(HERE, 'support/queue-app.mjs'), join(project, 'app.mjs'))
  symlinkSync(join(HERE, '../packages/node_modules'), join(project, 'node_modules'))
  const env = { ...process.env, NODE_ENV: 'development', REDIS_PORT: String(port), FASTIFY: import.meta.filename, STORAGE_URL: 'memory' }
  const { stdout, stderr } = await run(process.execPath, [`--import=${TSX}`, `--import=${PRELOAD}`, 'app.mjs'], { cwd: project, env })
  t.notMatch(stderr, /HindsightWarning/)
  const { result, request, profiles } = JSON.parse(stdout) as Printed
  t.same(result, { sent: 'welcome', hasToken: 'string' }, 'the processor receives and returns what it does without the preload')
  const [third, second, first, task] = profiles
  const job = { kind: 'job', name: 'mails welcome', id: '1', parent: request }
  const input = { to: 'ann', password: '******' }
  t.match(third, { ...job, attempt: 3, outcome: 'done', collectors: { job: { input, result: { sent: 'welcome' }, source: /app\.mjs:16$/ } } })
  t.match(second, { ...job, attempt: 2, outcome: 'failed' })
  t.match(first, { ...job, attempt: 1, outcome: 'failed', exceptions: [{ message: 'the server of mails is down' }] })
  t.equal(typeof first?.queued, 'number')
  t.equal(second?.queued, undefined)
  t.match(task, { kind: 'schedule', name: 'sweeper (0 0 1 1 *)', outcome: 'failed', exceptions: [{ message: 'not swept' }] })
  t.equal(profiles.length, 4)
})
