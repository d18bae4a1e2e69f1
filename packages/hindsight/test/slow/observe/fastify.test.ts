import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

// The tests of Fastify itself, each in a process with the preload: what they find is as without it.

const run = promisify(execFile)
const fastify = dirname(createRequire(import.meta.url).resolve('fastify'))
const root = join(import.meta.dirname, '../../../../..')
const preload = [join(root, 'packages/hindsight/test/support/erase-types/register.js'), join(root, 'packages/hindsight/src/register.ts')]
  .flatMap((file) => ['--import', pathToFileURL(file).href])

/** Of those whose packages are installed and that read no private property: many tests in little time. */
const FILES = [
  '404s', '500s', 'als', 'async-await', 'body-limit', 'child-logger-factory', 'close', 'constrained-routes', 'content-parser', 'content-type', 'decorator',
  'delete', 'encapsulated-child-logger-factory', 'encapsulated-error-handler', 'genReqId', 'handler-timeout', 'hooks-async', 'inject', 'output-validation',
  'plugin.4', 'reply-trailers', 'request-error', 'request-header-host', 'route-hooks', 'route-prefix', 'router-options', 'schema-feature',
  'schema-serialization', 'skip-reply-send', 'throw', 'trust-proxy', 'web-api'
]
const dataDir = t.testdir()

t.test('the tests of Fastify pass with the preload', { jobs: 2 }, async (t) => {
  for (const name of FILES) {
    t.test(name, async (t) => {
      const file = join(fastify, 'test', `${name}.test.js`)
      const result = await run(process.execPath, [...preload, file], {
        cwd: fastify, env: { ...process.env, NODE_ENV: '', NODE_OPTIONS: '', DATA_DIR: dataDir }, maxBuffer: 1e8
      }).catch((error: Error & { stdout: string }) => error)
      t.notOk(result instanceof Error, name, { output: result.stdout.slice(-5_000) })
    })
  }
})

t.test('their requests were profiled', async (t) => {
  t.ok(readdirSync(dataDir).includes('profiles.db'))
})
