import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreFile } from './store-file.js'

const MAX_CLOSING = 5_000
/** Milliseconds from one look of those who only read to the next. */
const LOOK = 1_000

interface Opened {
  file: StoreFile
  /** Which file of the system it is: while it is open, no other gets this name. */
  identity: string
  uses: number
}

export interface SharedFileOptions {
  /** Opens what is at the place now, or begins it. */
  reopen: () => Promise<StoreFile>
  warn: (message: string) => void
  closed: () => void
}

/** The databases of a path, which all its users in this process share; where the file was removed, all of them move to the new one. */
export class SharedFile {
  readonly #place: string
  readonly #options: SharedFileOptions
  #opened: Opened
  #users = 0
  #isClosed = false
  #moving: Promise<void> | undefined
  #lookedAt = -Infinity

  constructor (place: string, file: StoreFile, options: SharedFileOptions) {
    this.#place = place
    this.#options = options
    this.#opened = { file, identity: identityOf(place) ?? '', uses: 0 }
  }

  get file (): StoreFile {
    return this.#opened.file
  }

  /** Counts one user more; false where the last one has gone. */
  join (): boolean {
    if (!this.#isClosed) this.#users++
    return !this.#isClosed
  }

  /** Works with the file that is at the place: a writer begins a new one where there is none, a reader keeps the old one until somebody has. */
  async use<T> (isWriter: boolean, work: (file: StoreFile) => T | Promise<T>): Promise<T> {
    if (this.#isRemoved(isWriter)) await (this.#moving ??= this.#move().finally(() => { this.#moving = undefined }))
    const opened = this.#opened
    opened.uses++
    try {
      return await work(opened.file)
    } finally {
      opened.uses--
      this.#retire(opened)
    }
  }

  /** Closes the databases when nobody uses them any more. */
  async leave (): Promise<void> {
    if (--this.#users > 0) return
    this.#isClosed = true
    this.#options.closed()
    await closeDatabases(this.#opened.file)
  }

  #isRemoved (isWriter: boolean): boolean {
    if (!isWriter && performance.now() - this.#lookedAt < LOOK) return false
    this.#lookedAt = performance.now()
    const identity = identityOf(this.#place)
    return identity === undefined ? isWriter : identity !== this.#opened.identity
  }

  async #move (): Promise<void> {
    const file = await this.#options.reopen()
    const old = this.#opened
    this.#opened = { file, identity: identityOf(this.#place) ?? '', uses: 0 }
    this.#options.warn(`The store "${this.#place}" was removed; a new one begins.`)
    this.#retire(old)
  }

  // What still reads the old file must not have it taken away.
  #retire (opened: Opened): void {
    if (opened !== this.#opened && opened.uses === 0) closeDatabases(opened.file).catch(() => {})
  }
}

/** Which file or folder of the system it is; undefined where there is none. */
export function identityOf (place: string): string | undefined {
  const found = statSync(place, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

/** Lets go of them, also where LMDB would wait for ever. */
export async function closeDatabases (file: StoreFile): Promise<void> {
  // After a transaction that failed LMDB waits for it to reach the disk, for ever; one that has nothing to write ends that.
  await file.root.transaction(() => {}).catch(() => {})
  await Promise.race([file.root.close(), sleep(MAX_CLOSING, undefined, { ref: false })])
}
