import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { installFixture } from '../support/installed.js'

const run = promisify(execFile)
const REGISTER = '--import=fastify-hindsight/register'

interface Said { statuses: number[], megabytes: number }

// tsx transforms files with `import(`, and Node.js keeps their source maps.
t.test('under tsx the package takes at most 12 MB of the heap, and an application with a limit of 100 MB answers', async (t) => {
  const folder = await installFixture(t, 'heap')
  const start = async (preloads: readonly string[], ...args: string[]): Promise<Said> => {
    const env = { ...process.env, NODE_ENV: 'development', STORAGE_URL: 'memory' }
    const { stdout } = await run(process.execPath, ['--expose-gc', ...preloads, 'app.ts', ...args], { cwd: folder, env })
    return JSON.parse(stdout) as Said
  }
  const bare = await start(['--import=tsx'])
  t.same(bare.statuses, Array(6).fill(200))
  const cases = {
    'tsx, then the preload': await start(['--import=tsx', REGISTER]),
    'the preload, then tsx': await start([REGISTER, '--import=tsx']),
    'the plugin': await start(['--import=tsx'], 'plugin')
  }
  for (const [name, { statuses, megabytes }] of Object.entries(cases)) {
    t.same(statuses, bare.statuses, name)
    const added = megabytes - bare.megabytes
    t.ok(added > 0.5 && added <= 12, `${name}: ${added.toFixed(1)} MB`)
  }
})
