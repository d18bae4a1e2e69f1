import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Load, Loaded } from './load.js'
import type { Question, Usage } from './server.js'

const FOLDER = import.meta.dirname
const ROOT = join(FOLDER, '..')

/**
 * Flags of every server. V8 enlarges the young generation step by step, and its garbage collections during the warm-up
 * influence which code it optimizes. With the final size from the start, equal servers differ less.
 */
const YOUNG_GENERATION = ['--min-semi-space-size=16']

/** How a variant is served. */
export interface ServerOptions {
  /** `NODE_ENV` of the process. */
  production?: boolean
  /** Further flags of Node.js. */
  flags?: readonly string[]
  /** The folder of another commit, whose variant is served. */
  folder?: string
}

/** The first message of a server. */
interface Started {
  port: number
  /** Milliseconds until it listens, of the servers of products: CPU time of all threads, and elapsed. */
  start?: { cpu: number, elapsed: number }
}

/** A server in a process of its own. */
export class Server {
  readonly #child: ChildProcess
  readonly port: number
  readonly started: Required<Started>['start']

  private constructor (child: ChildProcess, { port, start = { cpu: NaN, elapsed: NaN } }: Started) {
    this.#child = child
    this.port = port
    this.started = start
  }

  /** Starts a variant, run as `npm start` runs the service. */
  static async start (variant: string, { production = true, flags = [], folder = ROOT }: ServerOptions = {}): Promise<Server> {
    // Of the service before it was apart from the package, or of the package.
    const [register = ''] = ['test', 'packages/hindsight/test'].map((tests) => join(folder, tests, 'support/erase-types/register.js'))
      .filter((file) => existsSync(file))
    const loader = ['--enable-source-maps', '--import', register]
    return await Server.fork(join(folder, 'bench/server.ts'), [variant], [...loader, ...YOUNG_GENERATION, ...flags], {
      NODE_ENV: production ? 'production' : 'development'
    })
  }

  static async fork (
    file: string, args: readonly string[], flags: readonly string[], env: Readonly<Record<string, string>>
  ): Promise<Server> {
    const child = fork(file, args, {
      // Flags name packages of the peers.
      cwd: FOLDER,
      execArgv: [...flags],
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc']
    })
    return new Server(child, await answer<Started>(child, `The server "${args.join(' ')}"`))
  }

  async usage (): Promise<Usage> {
    return await ask<Usage>(this.#child, 'usage')
  }

  async close (): Promise<void> {
    this.#child.send('close' satisfies Question)
    await once(this.#child, 'exit')
  }
}

/** Sends the requests, in a process of its own. */
export class Client {
  readonly #child = fork(join(FOLDER, 'load.ts'), [], { execArgv: ['--import=tsx'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })

  async load (load: Load): Promise<Loaded> {
    const answering = answer<Loaded>(this.#child, 'The load')
    this.#child.send(load)
    return await answering
  }

  close (): void {
    this.#child.disconnect()
  }
}

/** The server that products send to, and that applications call. */
export class Sink {
  readonly #child: ChildProcess
  readonly address: string

  private constructor (child: ChildProcess, port: number) {
    this.#child = child
    this.address = `http://127.0.0.1:${port}`
  }

  static async start (): Promise<Sink> {
    const child = fork(join(FOLDER, 'products/sink.cjs'))
    return new Sink(child, (await answer<Started>(child, 'The sink')).port)
  }

  /** Bytes that it has received since the last call. */
  async received (): Promise<number> {
    return (await ask<{ received: number }>(this.#child, 'received')).received
  }

  close (): void {
    this.#child.disconnect()
  }
}

async function ask<T> (child: ChildProcess, question: string): Promise<T> {
  const answering = answer<T>(child, 'A server')
  child.send(question)
  return await answering
}

async function answer<T> (child: ChildProcess, who: string): Promise<T> {
  const over = new AbortController()
  try {
    const [message] = await Promise.race([
      once(child, 'message', { signal: over.signal }),
      once(child, 'exit', { signal: over.signal }).then(([code]) => { throw new Error(`${who} has ended with ${String(code)}`) })
    ]) as [T & { error?: string }]
    if (message.error !== undefined) throw new Error(message.error)
    return message
  } finally {
    over.abort()
  }
}
