import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'

const ROOT = join(import.meta.dirname, '../../../..')
const TIMEOUT = 120_000
/** A secret that production starts with. */
export const SECRET = 'a secret of the tests, thirty-two characters and more'
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }

export type Environment = Record<string, string>

/** How a process of ours is started. */
export interface Command {
  args: string[]
  env: Environment
  /** The root of the project without it. */
  cwd?: string
}

/** A script of package.json that is variables, then `node` and its arguments. */
export function scriptCommand (name: string, preload: string[] = []): Command {
  const words = scripts[name]?.split(' ') ?? []
  const at = words.indexOf('node')
  const args = words.slice(at + 1)
  return { args: [...args.slice(0, -1), ...preload, ...args.slice(-1)], env: variables(words.slice(0, at)) }
}

/** `npm start`. */
export function startCommand (preload: string[] = []): Command {
  return scriptCommand('start', preload)
}

/** What `npm run dev` watches over. */
export function devCommand (preload: string[] = []): Command {
  return { args: ['--enable-source-maps', '--import=tsx', ...preload, 'app/dev.ts'], env: {} }
}

/** The application as fastify-cli starts it. */
export function cliCommand (port: number, preload: string[] = []): Command {
  const cli = ['node_modules/fastify-cli/cli.js', 'start', '--options', '--log-level', 'info', '--close-grace-delay', '4000']
  const address = ['--address', '127.0.0.1', '--port', String(port)]
  return { args: ['--enable-source-maps', '--import=tsx', ...preload, ...cli, ...address, 'app/app.ts'], env: {} }
}

function variables (words: string[]): Environment {
  return Object.fromEntries(words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split(/=(.*)/s).slice(0, 2)))
}

/** Gives the application routes that fail. */
export const PRELOAD = [`--import=${join(import.meta.dirname, '../../../../test/fixtures/failing-routes.js')}`]

/** One that was started, and what it has said. */
export class Process {
  stdout = ''
  stderr = ''
  readonly #child
  readonly ended: Promise<number | null>

  constructor ({ args, env, cwd = ROOT }: Command, given: Environment = {}) {
    const { NODE_ENV: _environment, ...inherited } = process.env
    this.#child = spawn(process.execPath, args, { cwd, env: { ...inherited, ...env, PORT: '0', ...given }, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child.stdout.setEncoding('utf8').on('data', (chunk: string) => { this.stdout += chunk })
    this.#child.stderr.setEncoding('utf8').on('data', (chunk: string) => { this.stderr += chunk })
    this.ended = once(this.#child, 'close').then(([code]) => code as number | null)
  }

  /** The port that it says it listens on. */
  async listening (): Promise<number> {
    return Number((await this.said(/Server listening at http:\/\/127\.0\.0\.1:(\d+)/))[1])
  }

  /** Waits until its log has something to say. */
  async said (pattern: RegExp): Promise<RegExpExecArray> {
    return await this.#printed(pattern, () => this.stdout)
  }

  /** The same of its standard error. */
  async wrote (pattern: RegExp): Promise<RegExpExecArray> {
    return await this.#printed(pattern, () => this.stderr)
  }

  async #printed (pattern: RegExp, read: () => string): Promise<RegExpExecArray> {
    for (const until = Date.now() + TIMEOUT; Date.now() < until; await sleep(20)) {
      const found = pattern.exec(read())
      if (found !== null) return found
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) break
    }
    // Its last output may arrive after its end.
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) await this.ended
    const found = pattern.exec(read())
    if (found !== null) return found
    throw new Error(`It does not say ${String(pattern)}:\n${this.stdout}\n${this.stderr}`)
  }

  /** How it ends, on its own or by a signal. */
  async exit (signal?: NodeJS.Signals): Promise<number | null> {
    if (signal !== undefined) this.#child.kill(signal)
    const ended = await Promise.race([this.ended, sleep(TIMEOUT, 'late' as const, { ref: false })])
    if (ended !== 'late') return ended
    this.#child.kill('SIGKILL')
    throw new Error(`It does not end:\n${this.stdout}\n${this.stderr}`)
  }

  signal (signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  kill (): void {
    if (this.#child.exitCode === null) this.#child.kill('SIGKILL')
  }
}

/** Starts it; it ends with the test. */
export function run (t: Pick<Test, 'teardown'>, command: Command, env: Environment = {}): Process {
  const started = new Process(command, env)
  t.teardown(() => started.kill())
  return started
}
