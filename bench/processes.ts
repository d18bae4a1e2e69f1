import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Load, Loaded } from './load.js'
import type { Question, Usage } from './server.js'

const FOLDER = import.meta.dirname

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
}

/** A server in a process of its own, run as `npm start` runs the service. */
export class Server {
  readonly #child: ChildProcess
  readonly port: number

  private constructor (child: ChildProcess, port: number) {
    this.#child = child
    this.port = port
  }

  static async start (variant: string, { production = true, flags = [] }: ServerOptions = {}): Promise<Server> {
    const child = fork(join(FOLDER, 'server.ts'), [variant], {
      execArgv: [
        '--enable-source-maps', '--import', join(FOLDER, '../test/support/erase-types/register.js'),
        ...YOUNG_GENERATION, ...flags
      ],
      env: { ...process.env, NODE_ENV: production ? 'production' : 'development' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc']
    })
    const { port } = await answer<{ port: number }>(child, `The server "${variant}"`)
    return new Server(child, port)
  }

  async usage (): Promise<Usage> {
    const answering = answer<Usage>(this.#child, 'A server')
    this.#child.send('usage' satisfies Question)
    return await answering
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
