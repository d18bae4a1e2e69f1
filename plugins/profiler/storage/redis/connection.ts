import { createHash } from 'node:crypto'
import { createClient, ErrorReply, RESP_TYPES } from '@redis/client'
import type { RedisAddress } from './address.js'
import { RedisRefusedError, RedisUnavailableError } from './errors.js'

/** What Redis answers: texts as bytes. */
export type Reply = Buffer | number | string | null | Reply[]

export type Argument = string | Buffer

/** A Lua script, known to Redis by its digest once it was run. */
export interface Script {
  source: string
  digest: string
}

export interface ConnectionOptions {
  /** Milliseconds for an answer. */
  timeout: number
  warn: (message: string) => void
  /** Called each time that Redis was reached; never rejects. */
  ready: () => Promise<void>
}

type Client = ReturnType<typeof connectedClient>

/** A connection without an answer for so long is given up for a new one. */
const DEAD_AFTER = 5_000
/** Closing does not end an attempt to connect, which keeps the process from ending so long. */
const CONNECT_WITHIN = 2_000
const MAX_RETRY_DELAY = 1_000

/** Prepares a script to be run. */
export function script (source: string): Script {
  return { source, digest: createHash('sha1').update(source).digest('hex') }
}

/**
 * One connection to Redis that fails soon and comes back by itself: nothing waits for a Redis that is away,
 * and while one answer is overdue nothing more is sent, so that a Redis that hangs costs neither time nor memory.
 */
export class RedisConnection {
  readonly #address: RedisAddress
  readonly #options: ConnectionOptions
  #client: Client
  #state: 'new' | 'ready' | 'away' | 'closed' = 'new'
  #reason = 'it was not reached yet'
  #overdue = false
  #patience: NodeJS.Timeout | undefined
  #settled: () => void = () => {}

  constructor (address: RedisAddress, options: ConnectionOptions) {
    this.#address = address
    this.#options = options
    this.#client = this.#connect()
  }

  /** Waits until Redis was reached, or not, or the time for an answer is over. */
  async opened (): Promise<void> {
    if (this.#state !== 'new') return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#options.timeout)
      this.#settled = () => { clearTimeout(timer); resolve() }
    })
    if (this.#state === 'new') this.#away(`no answer within ${this.#options.timeout} ms`)
  }

  /** Runs one command; several in the same turn of the event loop go in one round trip. */
  async send (...args: Argument[]): Promise<Reply> {
    if (this.#overdue) throw this.#unavailable(`no answer within ${this.#options.timeout} ms`)
    if (!this.#client.isReady) throw this.#unavailable(this.#reason)
    const client = this.#client
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((resolve, reject) => {
      timer = setTimeout(() => {
        if (client === this.#client) this.#waitFor(client)
        reject(this.#unavailable(`no answer within ${this.#options.timeout} ms`))
      }, this.#options.timeout)
    })
    try {
      return await Promise.race([client.sendCommand<Reply>(args, { typeMapping: AS_BYTES }), late])
    } catch (error) {
      throw this.#told(error, args)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Runs a script; `key` is any of its keys, and tells a cluster where to run it. */
  async run ({ digest, source }: Script, key: string, ...args: Argument[]): Promise<Reply> {
    try {
      return await this.send('EVALSHA', digest, '1', key, ...args)
    } catch (error) {
      if (!(error instanceof RedisRefusedError && error.message.includes('NOSCRIPT'))) throw error
      return await this.send('EVAL', source, '1', key, ...args)
    }
  }

  close (): void {
    this.#state = 'closed'
    this.#reason = 'it was closed'
    this.#settled()
    this.#endPatience()
    this.#client.destroy()
  }

  #connect (): Client {
    const client = connectedClient(this.#address)
    client.on('connect', () => { if (client === this.#client) this.#beginPatience() })
    client.on('ready', () => { if (client === this.#client) this.#ready() })
    client.on('error', (error: unknown) => { if (client === this.#client) this.#away(reasonOf(error)) })
    // It tries again by itself; this tells only that it was closed meanwhile.
    client.connect().catch(() => {})
    return client
  }

  #ready (): void {
    if (this.#state === 'closed') return
    if (this.#state === 'away') this.#options.warn(`Redis at ${this.#address.place} is back.`)
    this.#state = 'ready'
    this.#endPatience()
    // What is prepared then has its own deadline, and does without what fails.
    this.#options.ready().catch(() => {}).finally(() => this.#settled())
  }

  #away (reason: string): void {
    if (this.#state === 'closed') return
    if (this.#state !== 'away') this.#options.warn(`Redis at ${this.#address.place} cannot be used: ${reason}. It is tried again.`)
    this.#reason = reason
    this.#state = 'away'
    this.#endPatience()
    this.#settled()
  }

  /** Nothing is sent until what was sent is answered, or given up. */
  #waitFor (client: Client): void {
    if (this.#overdue || this.#state === 'closed') return
    this.#away(`no answer within ${this.#options.timeout} ms`)
    this.#overdue = true
    this.#beginPatience()
    client.ping().then(() => { if (client === this.#client) this.#ready() }, () => {})
  }

  /** A connection on which nothing is answered may have nobody at its other end. */
  #beginPatience (): void {
    clearTimeout(this.#patience)
    // An attempt to connect may succeed when it is no longer wanted.
    if (this.#state === 'closed') return
    this.#patience = setTimeout(() => {
      this.#endPatience()
      this.#client.destroy()
      this.#client = this.#connect()
    }, DEAD_AFTER)
    this.#patience.unref()
  }

  #endPatience (): void {
    clearTimeout(this.#patience)
    this.#overdue = false
  }

  #told (error: unknown, [command, key]: Argument[]): Error {
    if (error instanceof ErrorReply) return new RedisRefusedError(this.#address.place, command === 'EVALSHA' || command === 'EVAL' ? 'a script' : `${String(command)} ${String(key)}`, error.message)
    return error instanceof RedisUnavailableError ? error : this.#unavailable(reasonOf(error))
  }

  #unavailable (reason: string): Error {
    return new RedisUnavailableError(this.#address.place, this.#state === 'closed' ? 'it was closed' : reason)
  }
}

const AS_BYTES = { [RESP_TYPES.BLOB_STRING]: Buffer }

function connectedClient ({ host, port, tls, username, password, database }: RedisAddress) {
  return createClient({
    RESP: 2,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    database,
    name: 'hindsight',
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    // Time is kept here: theirs ends only what is not yet sent, and makes a signal for every command.
    commandOptions: { timeout: 0 },
    socket: {
      host,
      port,
      ...(tls && { tls: true as const }),
      connectTimeout: CONNECT_WITHIN,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** Math.min(retries, 5), MAX_RETRY_DELAY)
    }
  })
}

function reasonOf (error: unknown): string {
  // Node gives one error for all addresses of a name, without a message.
  if (error instanceof AggregateError && error.message === '') return reasonOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}
