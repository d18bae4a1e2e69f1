import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { testdir } from '../../../support/folder.js'

const ROOT = join(import.meta.dirname, '../../../../../..')

t.test('a process ends with pending timers, prints only the order, and gets no hook from the preload', async (t) => {
  const dataDir = testdir(t)
  const path = join(dataDir, 'server.cjs')
  writeFileSync(path, 'const app = require("fastify")({ logger: true })\nconsole.log("hello")\nsetInterval(() => {}, 1000)\napp.get("/", ' +
    'async function home () {})\napp.log.info("hello")\napp.addHook("onRequest", async function own () {})\napp.listen({ port: 1 })')
  const child = spawn(
    process.execPath, ['--import=tsx', '--import=./packages/hindsight/src/register.ts', 'packages/hindsight/bin/fastify-hindsight.js', 'lifecycle', path],
    { cwd: ROOT, env: { ...process.env, NODE_ENV: 'test', PROFILER_STORAGE: 'memory', DATA_DIR: dataDir }, stdio: ['ignore', 'pipe', 'pipe'] }
  )
  t.teardown(() => child.kill('SIGKILL'))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), new Promise((resolve) => child.once('close', resolve))])
  t.equal(code, 0)
  t.match(err, 'hello')
  t.match(out, /^GET \/\n {2}onRequest\n {4}own \(.*server\.cjs\)\n {2}handler\n {4}home \(.*server\.cjs\)\n$/)
})
