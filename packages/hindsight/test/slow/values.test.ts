import { join } from 'node:path'
import t from 'tap'
import { Process } from '../support/process.js'

const FIXTURES = join(import.meta.dirname, '../fixtures/failing')
const ROOT = join(import.meta.dirname, '../../../..')

async function run (ending: string, { options = [], env = {}, values = 'on' }: { options?: string[], env?: Record<string, string>, values?: string } = {}) {
  const started = new Process({ args: ['--import=tsx', ...options, join(FIXTURES, 'app.ts'), ending, values], env, cwd: ROOT })
  if (ending === 'signal') {
    await started.said(/isReady/)
    started.signal('SIGTERM')
  }
  const code = await started.ended
  const [line = '{}'] = /^\{.*\}$/m.exec(started.stdout) ?? []
  return { code, stderr: started.stderr, ...JSON.parse(line) as { isReady?: boolean, variables?: object[] } }
}

const VARIABLES = [{ name: 'order.lines', value: 'undefined' }, { name: 'order', value: '{ id: 8 }' }]

for (const ending of ['empty', 'exit', 'exit-inside', 'signal', 'throws', 'at-once']) {
  t.test(`a process ends as without values: ${ending}`, async (t) => {
    const without = await run(ending, { values: 'off' })
    const { code, stderr, isReady, variables } = await run(ending)
    t.equal(code, without.code)
    // V8 formats the stack of an error when it is thrown: the object of the timer still has its function.
    const withoutLines = (text: string): string => text.replace(/\d+/g, '').replace('_onImmediate', '<anonymous>')
    t.equal(withoutLines(stderr), withoutLines(without.stderr))
    if (ending === 'at-once') return
    t.equal(without.variables, undefined)
    t.equal(isReady, true)
    t.match(variables, VARIABLES)
  })
}

t.test('there are no values where a debugger or coverage inspects the process', async (t) => {
  const coverage = t.testdir({})
  for (const [name, given] of Object.entries({
    inspect: { options: ['--inspect=0'] },
    'an option': { env: { NODE_OPTIONS: '--inspect=0' } },
    coverage: { env: { NODE_V8_COVERAGE: coverage } },
    jest: { env: { JEST_WORKER_ID: '1' } }
  })) {
    const { code, isReady, variables } = await run('empty', given)
    t.same({ code, isReady, variables }, { code: 0, isReady: false, variables: undefined }, name)
  }
})

t.test('the application goes on where the thread dies', async (t) => {
  const { code, stderr, isReady, variables } = await run('thread-dies')
  t.same({ code, stderr, isReady, variables }, { code: 0, stderr: '', isReady: true, variables: undefined })
})

t.test('the thread ends where a debugger was attached after its start', async (t) => {
  const { code, isReady, variables } = await run('debugger')
  t.same({ code, isReady, variables }, { code: 0, isReady: true, variables: undefined })
})
