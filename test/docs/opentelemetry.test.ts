import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { metric } from '../../lib/profiler/server-timing.js'
import { newest } from '../support/app.js'

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/how-to/opentelemetry.md'), 'utf8')

t.test('the example of docs/how-to/opentelemetry.md runs as it stands', async (t) => {
  const [, code = ''] = /```js\n([^]*?)```/.exec(PAGE) ?? []
  const file = join(t.testdir(), 'example.mjs')
  // Its profiles are those of the test alone.
  writeFileSync(file, code.replace("'fastify-hindsight'", JSON.stringify(pathToFileURL(join(ROOT, 'app/index.ts')))).replace('{ debug: true }', "{ debug: true, profiler: { storage: 'memory' } }"))
  const { app } = await import(pathToFileURL(file).href) as { app: FastifyInstance }
  t.teardown(() => app.close())
  t.equal((await app.inject('/')).body, 'done')
  t.match((await newest(app)).collectors.spans, { count: 1, spans: [{ name: 'find articles', scope: 'shop', attributes: { articles: 3 } }] })
})

t.test('the header of the example is valid', async (t) => {
  const [, value = ''] = /^server-timing: (.*)$/m.exec(PAGE) ?? []
  t.equal(value.split(', ').map((one) => {
    const [, name = '', duration = '', , description = ''] = /^([^;]+);dur=([\d.]+)(;desc="([^"]*)")?$/.exec(one) ?? []
    return metric(name, Number(duration), description)
  }).join(', '), value)
})
