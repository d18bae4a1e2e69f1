import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import t from 'tap'
import { opened, place, run } from '../../store/support.js'

const RUNS = 5

t.test('a crash in the first request leaves its profile, and that of a request under way, beside busy processes', async (t) => {
  const busy = Array.from({ length: 4 }, () => spawn(process.execPath, ['-e', 'for (;;);']))
  t.teardown(() => { for (const child of busy) child.kill() })
  for (let i = 0; i < RUNS; i++) {
    const path = place(t)
    const { code, errors } = await run('first-request.ts', [dirname(path)])
    t.equal(code, 1, errors)
    const { profiles } = await opened(t, { path }).search({ limit: 9 })
    const found = Object.fromEntries(profiles.map(({ url, status, exception }) => [new URL(url).pathname, { status, exception }]))
    t.same(found, {
      '/crash': { status: 200, exception: 'Error: thrown in a timer' },
      '/pending': { status: 0, exception: 'ProcessExitError: The process exited with code 1 before the response was sent' }
    })
  }
})

t.test('thousands of profiles in memory do not end an application with a small heap', async (t) => {
  const { code, output, errors } = await run('small-heap.ts', [], 'export NODE_OPTIONS=--max-old-space-size=96')
  t.equal(code, 0, errors)
  const { engine, profiles } = JSON.parse(output) as { engine: string, profiles: number }
  t.equal(engine, 'memory')
  // Tokens have six digits: a few of them are equal.
  t.ok(profiles > 3_900, `${profiles} profiles`)
})
