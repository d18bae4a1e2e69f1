import { existsSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { resolve } from 'node:path'
import { clearTimeout, setTimeout } from 'node:timers'
import { Worker } from 'node:worker_threads'
import { attemptCall } from '../call.js'
import { extension, modulePlace } from '../require.js'
import { IN_MEMORY } from './sqlite/availability.js'
import { StorageClosedError, StorageUnusableError, type ProfileStorage, type StorageBounds } from './storage.js'
import type { StoreCall, Reply } from './sqlite/worker.js'

type Methods = Required<ProfileStorage>

interface Pending {
  path: string
  resolve: (value: unknown) => void
  reject: (error: Error) => void
}

/** How long (ms) an exiting process waits for the running statement. */
const STOP_TIMEOUT = 2_000
/** How long (ms) it waits for the first call: on a busy machine it takes seconds to start a thread and open a file. */
const START_TIMEOUT = 5_000
/** Milliseconds of one wait. A longer one counts as this: the process was suspended. */
const MAX_PAUSE = 50

/** The thread of this process that owns databases. It keeps no idle process alive. */
class DatabaseThread {
  readonly stores = new Set<SqliteStorage>()
  /** Whether a worker has sent a message: it can start in this process. */
  hasStarted = false
  /** Whether the last worker has ended before it answered. */
  #cannotStart = false
  readonly #pending = new Map<number, Pending>()
  /** The last stores of databases that are still open, and what closes them. */
  readonly #idle = new Map<SqliteStorage, NodeJS.Timeout>()
  #worker: Worker | null = null
  /** The number of calls that the worker received, and, shared with it, of those that it has answered. */
  #posted = 0
  #answered = new Int32Array(new SharedArrayBuffer(8))
  #lastId = 0

  add (store: SqliteStorage): void {
    this.stores.add(store)
    for (const [idle, timer] of this.#idle) {
      if (idle.path !== store.path) continue
      clearTimeout(timer)
      // A file that was removed meanwhile is not one that a store has lost.
      if (existsSync(store.path)) this.#idle.delete(idle)
      else this.#close(idle).catch(() => {})
    }
  }

  /** Removes a store; closes the database after the last one of its path. */
  async remove (store: SqliteStorage): Promise<void> {
    this.stores.delete(store)
    if (this.#worker === null || this.#firstOf(store.path) !== undefined) return
    if (store.closeDelay === 0) return await this.#close(store)
    this.#idle.set(store, setTimeout(() => { this.#close(store).catch(() => {}) }, store.closeDelay).unref())
  }

  async #close (store: SqliteStorage): Promise<void> {
    this.#idle.delete(store)
    if (this.#worker !== null) await this.call({ path: store.path, bounds: {}, method: 'close', args: [] })
  }

  /** Starts the thread before its first call, which reports where that is impossible. */
  start (): void {
    if (this.#worker !== null) return
    attemptCall(() => {
      this.#worker = this.#startWorker()
      this.#worker.unref()
    })
  }

  async call (call: Omit<StoreCall, 'id'>): Promise<unknown> {
    return await new Promise((resolve, reject) => {
      this.#worker ??= this.#startWorker()
      const id = ++this.#lastId
      // First: this throws where arguments cannot be cloned.
      this.#worker.postMessage({ ...call, id } satisfies StoreCall)
      this.#posted++
      // A process with nothing else to do waits for the answer.
      this.#worker.ref()
      this.#pending.set(id, { path: call.path, resolve, reject })
    })
  }

  /** Blocks this thread until all calls are answered, or the time (ms) is over after the first one. */
  settle (timeout: number): void {
    if (this.#posted === 0) return
    if (!this.#cannotStart) this.#waitFor(1, START_TIMEOUT)
    this.#waitFor(this.#posted, timeout)
  }

  #waitFor (count: number, timeout: number): void {
    for (let left = timeout; this.#worker !== null;) {
      const answered = Atomics.load(this.#answered, 0)
      if (answered >= count || left <= 0) return
      const before = performance.now()
      Atomics.wait(this.#answered, 0, answered, Math.min(left, MAX_PAUSE))
      left -= Math.min(performance.now() - before, MAX_PAUSE)
    }
  }

  /** Ends all work: the package for Node 20 aborts a process that exits while a statement runs in another thread. */
  stop (): void {
    const hasIdle = this.#idle.size > 0
    for (const store of this.#idle.keys()) this.#close(store).catch(() => {})
    Atomics.store(this.#answered, 1, 1)
    if (hasIdle || !isBuiltin('node:sqlite')) this.settle(STOP_TIMEOUT)
  }

  #startWorker (): Worker {
    this.#posted = 0
    this.#answered = new Int32Array(new SharedArrayBuffer(8))
    const started = new Worker(new URL('./store/sqlite/worker-entry.js', modulePlace), {
      name: 'hindsight-storage',
      workerData: { worker: `./worker${extension}`, answered: this.#answered },
      // Without the options and preloads of the application.
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: {},
      // Without it the thread keeps about 25 MiB more on Node.js 20, and is no faster.
      resourceLimits: { maxYoungGenerationSizeMb: 4 }
    })
    let reason = 'it ended'
    started.on('message', (reply: Reply) => this.#receive(reply))
    started.on('error', (error: unknown) => { reason = error instanceof Error ? error.message : String(error) })
    started.on('exit', () => this.#end(reason))
    return started
  }

  #receive (reply: Reply): void {
    this.hasStarted = true
    if ('warning' in reply) return this.#firstOf(reply.path)?.warn(reply.warning)
    const pending = this.#pending.get(reply.id)
    this.#pending.delete(reply.id)
    if (this.#pending.size === 0) this.#worker?.unref()
    if ('value' in reply) pending?.resolve(reply.value)
    else pending?.reject(Object.assign(new Error(reply.error.message), reply.error))
  }

  #firstOf (path: string): SqliteStorage | undefined {
    return [...this.stores].find((store) => store.path === path)
  }

  // The next call starts another worker.
  #end (reason: string): void {
    this.#worker = null
    this.#cannotStart = Atomics.load(this.#answered, 0) === 0
    for (const { path, reject } of this.#pending.values()) {
      reject(new StorageUnusableError(path, `its thread ended: ${reason}`))
    }
    this.#pending.clear()
  }
}

const databaseThread = new DatabaseThread()
process.on('exit', () => databaseThread.stop())

export interface SqliteStorageOptions extends Partial<StorageBounds> {
  /** The file; its folder is created where it is missing. A name that begins with `IN_MEMORY` has none. */
  path: string
  /** Receives messages for operators; of the stores of one path, the first one does. */
  warn?: (message: string) => void
  /**
   * How long (ms) the database stays open after its last store was closed, at most until the process exits; default: 0.
   * Opening and closing take longer than the writes of one test of an application.
   */
  closeDelay?: number
  /** Takes the place of the database where the thread cannot start: under Yarn Plug'n'Play, or without permission. */
  memory?: ProfileStorage
}

/** Stores profiles in a SQLite database, which a thread of its own reads and writes. */
export class SqliteStorage implements ProfileStorage {
  readonly path: string
  readonly warn: (message: string) => void
  readonly closeDelay: number
  readonly #bounds: Partial<StorageBounds>
  #memory: ProfileStorage | undefined
  #isInMemory = false
  #closing: Promise<void> | null = null

  constructor (options: SqliteStorageOptions) {
    const { path, warn = process.emitWarning, closeDelay = 0, memory, ...bounds } = options
    this.path = path.startsWith(IN_MEMORY) ? path : resolve(path)
    this.warn = warn
    this.closeDelay = closeDelay
    this.#memory = memory
    this.#bounds = bounds
    databaseThread.add(this)
  }

  put = this.#method('put')
  get = this.#method('get')
  search = this.#method('search')
  pin = this.#method('pin')
  purge = this.#method('purge')
  stats = this.#method('stats')
  secret = this.#method('secret')
  close = async (): Promise<void> => await (this.#closing ??= databaseThread.remove(this))
  settle = (timeout: number): void => databaseThread.settle(timeout)
  warmUp = (): void => databaseThread.start()

  #method<Name extends StoreCall['method']> (name: Name) {
    return async (...args: Parameters<Methods[Name]>): Promise<Awaited<ReturnType<Methods[Name]>>> =>
      await this.#call(name, ...args) as never
  }

  async #call (method: StoreCall['method'], ...args: unknown[]): Promise<unknown> {
    const { path } = this
    if (this.#closing !== null) throw new StorageClosedError(path)
    if (!this.#isInMemory) {
      try {
        const result = await databaseThread.call({ path, bounds: this.#bounds, method, args })
        this.#memory = undefined
        return result
      } catch (error) {
        if (databaseThread.hasStarted || this.#memory === undefined) throw error
        if (!this.#isInMemory) this.warn(`Profiles are kept in memory only: ${(error as Error).message}`)
        this.#isInMemory = true
      }
    }
    return await (this.#memory?.[method] as (...values: unknown[]) => unknown).apply(this.#memory, args)
  }
}
