import { readFileSync } from 'node:fs'
import Fastify from 'fastify'
import t from 'tap'
import { service } from '../../app/service.js'

/** The listeners of the table, as `where: stage listener: reason`. */
function rowsOf (heading: string): string[] {
  const [, section = ''] = readFileSync('docs/explanation/lifecycle.md', 'utf8').split(`## ${heading}\n`)
  const rows = section.split('\n## ')[0]?.matchAll(/^\| `(.+?)` \| (.+?) \| (.+?) \| (.+?) \|$/gm) ?? []
  return Array.from(rows, ([, stage, listeners = '', reason, where]) =>
    listeners.split(', ').map((name) => `${where}: ${stage} ${name.replaceAll('`', '')}: ${reason}`)).flat().sort()
}

for (const debug of [true, false]) {
  t.test(`the table of lifecycle.md has the listeners without a hook, ${debug ? 'in debug mode' : 'in production'}`, async (t) => {
    const app = Fastify({ pluginTimeout: 60_000 })
    t.teardown(() => app.close())
    await app.register(service, { debug, profiler: debug ? { storage: 'memory' } : false })
    const without = app.service.slots.filter(({ run }) => run === null)
      .map(({ stage, listener, reason }) => `${stage} ${listener}: ${reason}`)
    const always = rowsOf('Listeners without a hook').filter((row) => row.startsWith('always: '))
    const expected = debug ? always : rowsOf('Listeners without a hook')
    t.same(without.sort(), expected.map((row) => row.replace(/^.+?: /, '')).sort())
    t.equal(app.service.slots.length, 42)
  })
}
