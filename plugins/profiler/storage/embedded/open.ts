import { accessSync, chmodSync, constants, existsSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { alone } from './alone.js'
import { damageOf } from './check-file.js'
import { loadEngine, type Open } from './engine.js'
import { FORMAT } from './layout.js'
import { closeDatabases, identityOf, SharedFile } from './shared-file.js'
import { readState, StorageUnusableError, type StoreFile } from './store-file.js'

const MAX_ASIDE = 2
const MAX_TRIES = 10
// How many bytes LMDB maps of a file that may grow: one that outgrows them is mapped anew, twice as large, and the old pages stay where they are. What is
// mapped takes no memory by itself; but Windows may make the file as large, and 32 bits have few addresses.
const MAPPED = process.platform === 'win32' || ['arm', 'ia32', 'mips', 'mipsel'].includes(process.arch) ? {} : { mapSize: 1024 ** 3 }
// What the system refuses is no fault of the file.
const REFUSED = /^E[A-Z]+$/

const files = new Map<string, Promise<SharedFile>>()

/** A store's databases; one path is opened once, whoever asks for it. */
export async function openFile (path: string, warn: (message: string) => void): Promise<SharedFile> {
  const open = loadEngine()
  const place = prepare(path)
  for (;;) {
    let opening = files.get(place)
    if (opening === undefined) {
      opening = beginOrOpen(open, place, warn).then((file) => new SharedFile(place, file, {
        reopen: async () => await beginOrOpen(open, place, warn),
        warn,
        closed: () => { files.delete(place) }
      }))
      files.set(place, opening)
      opening.catch(() => { files.delete(place) })
    }
    const shared = await opening
    if (shared.join()) return shared
  }
}

// By one process at a time: LMDB opens a lock and then a file, and two processes that have the file with different locks destroy it.
async function beginOrOpen (open: Open, path: string, warn: (message: string) => void): Promise<StoreFile> {
  for (let tries = 1; ; tries++) {
    const place = prepare(path)
    const folder = identityOf(dirname(place))
    // Who removes the folder meanwhile may part the two.
    const isMoved = (): boolean => identityOf(dirname(place)) !== folder && tries < MAX_TRIES
    try {
      const file = await alone(place, () => inPlace(open, place, warn))
      if (!isMoved()) return file
      await closeDatabases(file)
    } catch (error) {
      if (!isMoved()) throw error instanceof StorageUnusableError ? error : new StorageUnusableError(place, messageOf(error))
    }
  }
}

function inPlace (open: Open, place: string, warn: (message: string) => void): StoreFile {
  if (!existsSync(place)) {
    // The lock of a file that was removed alone: who still has that must not share it with the new one.
    rmSync(`${place}-lock`, { force: true })
    return openSound(open, place, warn)
  }
  // Only a file can have been a store; what else stands there belongs to somebody.
  if (!statSync(place).isFile()) throw new StorageUnusableError(place, 'what is in its place is no file')
  const reason = damageOf(place)
  if (reason !== undefined) setAside(place, reason, warn)
  return openSound(open, place, warn)
}

function prepare (path: string): string {
  if (path === '') throw new StorageUnusableError(path, 'the path is empty')
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const place = join(realpathSync(dirname(path)), basename(path))
    accessSync(dirname(place), constants.W_OK)
    for (const file of [place, `${place}-lock`]) mustBeOurs(file)
    return place
  } catch (error) {
    throw new StorageUnusableError(path, messageOf(error))
  }
}

function mustBeOurs (file: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK)
  } catch (error) {
    // Another process may remove it at any time.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function openSound (open: Open, place: string, warn: (message: string) => void): StoreFile {
  let file: StoreFile | undefined
  let reason: string
  try {
    file = databases(open, place)
    const format = formatOf(file)
    if (format === FORMAT) return file
    reason = format === undefined ? 'it has no format that is known' : `its format is ${format}, and this version knows ${FORMAT}`
  } catch (error) {
    if (isRefusal(error)) throw new StorageUnusableError(place, messageOf(error))
    reason = messageOf(error)
  }
  // Nothing was written, so that this ends at once.
  file?.root.close().catch(() => {})
  setAside(place, reason, warn)
  try {
    return databases(open, place)
  } catch (error) {
    throw new StorageUnusableError(place, messageOf(error))
  }
}

function formatOf (file: StoreFile): number | undefined {
  try {
    return readState(file).format
  } catch {
    return undefined
  }
}

function databases (open: Open, path: string): StoreFile {
  // Batching by turns makes a promise of its own, which nobody hears when it is rejected.
  const root = open<string, string>({ path, noSubdir: true, eventTurnBatching: false, encoding: 'string', maxDbs: 8, maxReaders: 254, ...MAPPED })
  // What requests were about is nobody else's business.
  for (const own of [path, `${path}-lock`]) chmodSync(own, 0o600)
  const numbered = { keyEncoding: 'ordered-binary', encoding: 'binary' } as const
  return {
    root,
    tokens: root.openDB('tokens', { keyEncoding: 'uint32', encoding: 'binary' }),
    chunks: root.openDB('chunks', numbered),
    slots: root.openDB('slots', numbered),
    waiting: root.openDB('waiting', { ...numbered, encoding: 'string' }),
    zones: root.openDB('zones', numbered),
    columns: root.openDB('columns', numbered)
  }
}

/** Makes room for a new store; the last ones are kept for who wants to look into them. */
function setAside (place: string, reason: string, warn: (message: string) => void): void {
  const prefix = `${basename(place)}.set-aside-`
  const aside = join(dirname(place), prefix + new Date().toISOString().replace(/[:.]/g, '-'))
  try {
    renameSync(place, aside)
    // The lock belongs to the file that has gone.
    rmSync(`${place}-lock`, { force: true })
    const old = readdirSync(dirname(place)).filter((name) => name.startsWith(prefix)).sort().slice(0, -MAX_ASIDE)
    for (const name of old) rmSync(join(dirname(place), name), { force: true })
  } catch (error) {
    throw new StorageUnusableError(place, messageOf(error))
  }
  warn(`The store "${place}" cannot be read (${reason}). It was set aside as "${aside}"; a new one begins.`)
}

function isRefusal (error: unknown): boolean {
  return error instanceof Error && 'code' in error && (REFUSED.test(String(error.code)) || (typeof error.code === 'number' && error.code > 0 && error.code < 200))
}

function messageOf (error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
