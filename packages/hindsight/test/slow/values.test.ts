import { EventEmitter, once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { WebSocket } from 'ws'
import { Process } from '../support/process.js'

const FIXTURES = join(import.meta.dirname, '../fixtures/failing')
const ROOT = join(import.meta.dirname, '../../../..')

const ERASE = `--import=${pathToFileURL(join(import.meta.dirname, '../support/erase-types/register.js')).href}`
const DEBUGGED = join(FIXTURES, 'debugged.ts')
const SOURCE = readFileSync(DEBUGGED, 'utf8').split('\n')
const lineOf = (text: string): number => SOURCE.findIndex((line) => line.includes(text))

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
    'coverage of a test runner': { options: ['--experimental-test-coverage'] },
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

t.test('with values: false there is no thread, also after the warm-up', async (t) => {
  for (const [values, isReady] of [['on', 'true'], ['off', 'false']] as const) {
    const started = new Process({ args: [ERASE, DEBUGGED, values], env: { NODE_ENV: 'development' }, cwd: ROOT })
    t.equal((await started.said(/closed (\w+)/))[1], isReady)
    t.equal(await started.exit('SIGTERM'), 0)
  }
})

interface Message { id?: number, method?: string, params: Paused, error?: { message: string } }

interface Paused { callFrames: Array<{ location: { lineNumber: number } }> }

/** A client of the DevTools protocol. */
class Client {
  #id = 0
  readonly #socket: WebSocket
  readonly #messages = new EventEmitter()
  readonly #paused: Paused[] = []

  constructor (address: string) {
    this.#socket = new WebSocket(address)
    this.#socket.on('message', (data: Buffer) => {
      const { id, method = String(id), params, error } = JSON.parse(data.toString()) as Message
      if (method === 'Debugger.paused') this.#paused.push(params)
      this.#messages.emit(method, error)
    })
  }

  async opened (): Promise<void> {
    await once(this.#socket, 'open')
  }

  async send (method: string, params: object = {}): Promise<void> {
    const id = ++this.#id
    this.#socket.send(JSON.stringify({ id, method, params }))
    const [error] = await once(this.#messages, String(id)) as [Message['error']]
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  }

  /** The 0-based line of the next pause. */
  async pausedLine (): Promise<number | undefined> {
    if (this.#paused.length === 0) await once(this.#messages, 'Debugger.paused')
    return this.#paused.shift()?.callFrames[0]?.location.lineNumber
  }

  /** The lines of a pause, and of three steps from there: each is the answer of an application that waits. */
  async steppedLines (): Promise<Array<number | undefined>> {
    const lines = [await this.pausedLine()]
    for (let i = 0; i < 3; i++) {
      await this.send('Debugger.stepOver')
      lines.push(await this.pausedLine())
    }
    await this.send('Debugger.resume')
    return lines
  }

  close (): void {
    this.#socket.close()
  }
}

for (const outside of [false, true]) {
  t.test(`a debugger that is attached later pauses the application, ${outside ? 'outside of' : 'in'} a request`, async (t) => {
    const started = new Process({ args: [ERASE, DEBUGGED], env: { NODE_ENV: 'development' }, cwd: ROOT })
    t.teardown(() => started.kill())
    const [, isReady, port] = await started.said(/"isReady":(\w+).*"port":(\d+)/)
    t.equal(isReady, 'true')
    const addressOf = (path: string): string => `http://127.0.0.1:${port}${path}`
    await fetch(addressOf('/work'))
    started.signal('SIGUSR2')
    const [, address = ''] = await started.wrote(/listening on (ws:\S+)/)
    const client = new Client(address)
    await client.opened()
    await client.send('Debugger.enable')
    // As DevTools and VS Code do: this state is one for all sessions of a process.
    await client.send('Debugger.setPauseOnExceptions', { state: 'none' })
    const first = lineOf('// breakpoint')
    await client.send('Debugger.setBreakpointByUrl', { urlRegex: String.raw`.*debugged\.ts`, lineNumber: first })
    const answered = outside ? started.said(/worked\ncaught/) : fetch(addressOf('/work')).then(async (response) => await response.text())
    if (outside) started.signal('SIGHUP')
    t.same(await client.steppedLines(), [first, first + 1, first + 2, first + 3])
    if (!outside) t.equal(await answered, 'worked')
    else await answered
    await client.send('Debugger.setPauseOnExceptions', { state: 'all' })
    const caught = fetch(addressOf('/caught'))
    t.equal(await client.pausedLine(), lineOf('// error'))
    await client.send('Debugger.resume')
    await caught
    await started.said(/ended/)
    client.close()
    t.equal(await started.exit('SIGTERM'), 0)
    t.notMatch(started.stderr, 'Waiting for the debugger')
  })
}
