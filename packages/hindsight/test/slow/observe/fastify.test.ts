import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { isLong } from '../../support/long.js'

// The tests of Fastify itself, each in a process with the preload: what they find is as without it.

const run = promisify(execFile)
const fastify = dirname(createRequire(import.meta.url).resolve('fastify'))
const root = join(import.meta.dirname, '../../../../..')
const preload = [join(root, 'packages/hindsight/test/support/erase-types/register.js'), join(root, 'packages/hindsight/src/register.ts')]
  .flatMap((file) => ['--import', pathToFileURL(file).href])

/** Those of what Hindsight wraps, or answers in place of Fastify. */
const FIRST = [
  '404s', '500s', 'close', 'content-type', 'encapsulated-error-handler', 'hooks-async', 'inject', 'reply-trailers', 'request-error', 'route-hooks',
  'skip-reply-send', 'web-api'
]
/** Of the others whose packages are installed and that read no private property: many tests in little time. */
const OTHERS = [
  'als', 'async-await', 'body-limit', 'child-logger-factory', 'constrained-routes', 'content-parser', 'decorator', 'delete',
  'encapsulated-child-logger-factory', 'genReqId', 'handler-timeout', 'output-validation', 'plugin.4', 'request-header-host', 'route-prefix',
  'router-options', 'schema-feature', 'schema-serialization', 'throw', 'trust-proxy'
]
const TRIES = 4
const FILES = isLong ? [...FIRST, ...OTHERS] : FIRST
const dataDir = t.testdir()

t.test('the tests of Fastify pass with the preload', { jobs: 2 }, async (t) => {
  for (const name of FILES) {
    t.test(name, async (t) => {
      const file = join(fastify, 'test', `${name}.test.js`)
      const start = async (): Promise<{ stdout: string }> => await run(process.execPath, [...preload, file], {
        cwd: fastify, env: { ...process.env, NODE_ENV: '', NODE_OPTIONS: '', DATA_DIR: dataDir }, maxBuffer: 1e8
      }).catch((error: Error & { stdout: string }) => error)
      let result = await start()
      // Some of them fail on a busy machine, which has other times; what the preload changes fails each time.
      for (let tries = 1; tries < TRIES && result instanceof Error; tries++) result = await start()
      t.notOk(result instanceof Error, name, { output: result.stdout.slice(-5_000) })
    })
  }
})

t.test('their requests were profiled', async (t) => {
  t.ok(readdirSync(dataDir).includes('profiles.db'))
})
