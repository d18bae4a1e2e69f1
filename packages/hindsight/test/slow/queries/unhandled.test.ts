import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { withoutInternalFrames } from '../../support/internal-frames.js'

const ROOT = join(import.meta.dirname, '../../../../..')

/** The error of a process that ignores the rejection of a query, without the line of code that Node.js writes before it. */
function outputOf (isObserved: boolean): { status: number | null, error: string } {
  const code = `
    import pg from 'pg'
    import { observe } from './packages/hindsight/src/queries.ts'
    import { subscribe } from 'node:diagnostics_channel'
    subscribe('fastify-hindsight:query', () => {})
    const pool = new pg.Pool({ connectionString: 'postgres://nobody@127.0.0.1:1/none' })
    ${isObserved ? 'observe(pool)' : ''}
    async function handler () { await pool.query('select 1') }
    handler()`
  const { status, stderr } = spawnSync(process.execPath, ['--import=tsx', '--input-type=module', '-e', code], { cwd: ROOT, encoding: 'utf8' })
  return { status, error: withoutInternalFrames(stderr.slice(stderr.indexOf('\nError: '))) }
}

t.test('a rejection that is ignored ends the process with the same message and stack', async (t) => {
  const [alone, observed] = [outputOf(false), outputOf(true)]
  t.equal(alone.status, 1)
  t.match(alone.error, /ECONNREFUSED[^]*at async handler/)
  t.same(observed, alone)
})
