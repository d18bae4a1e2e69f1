import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteStorage } from '../../../packages/hindsight/src/store/sqlite.js'
import { findLibrary } from '../../../packages/hindsight/src/store/sqlite/availability.js'
import { recordOf } from '../../../packages/hindsight/src/store/summary.js'
import { tokens } from '../../../packages/hindsight/test/parts/fixture.js'
import { expected, STORED, type Order, type Outcome } from './damaged.js'

/** What is done to the bytes of a store. */
type Damage = (bytes: Buffer, random: () => number) => Buffer

const PAGE = 4_096
/** Profiles that are in the file itself of a store beside a WAL. */
export const CHECKPOINTED = 1_000

export const DAMAGES: Readonly<Record<string, Damage>> = {
  'one bit': (bytes, random) => flip(bytes, random, 1),
  'fifty bits': (bytes, random) => flip(bytes, random, 50),
  'a thousand bits': (bytes, random) => flip(bytes, random, 1_000),
  'a page of zeros': (bytes, random) => bytes.fill(0, ...pageAt(bytes, random)),
  'a page of noise': (bytes, random) => {
    const [start, end] = pageAt(bytes, random)
    for (let at = start; at < end; at++) bytes[at] = random() * 256
    return bytes
  },
  'two pages swapped': (bytes, random) => {
    const [a, aEnd] = pageAt(bytes, random)
    const [b, bEnd] = pageAt(bytes, random)
    const kept = Buffer.from(bytes.subarray(a, aEnd))
    bytes.copy(bytes, a, b, bEnd)
    kept.copy(bytes, b)
    return bytes
  },
  'a bit at the start of a page': (bytes, random) => {
    const [start] = pageAt(bytes, random)
    const at = start + Math.floor(random() * 128)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))
    return bytes
  },
  truncation: (bytes, random) => bytes.subarray(0, Math.floor(random() * bytes.length))
}

function flip (bytes: Buffer, random: () => number, bits: number): Buffer {
  for (let i = 0; i < bits; i++) {
    const at = Math.floor(random() * bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))
  }
  return bytes
}

function pageAt (bytes: Buffer, random: () => number): [start: number, end: number] {
  const start = Math.floor(random() * bytes.length / PAGE) * PAGE
  return [start, start + PAGE]
}

/** Which file of a store is damaged, and when. */
interface Situation {
  /** Of a store that was closed in order there is no `-wal`. */
  store: 'closed' | 'killed'
  suffix: '' | '-wal'
  isOpen: boolean
}

export const SITUATIONS: Readonly<Record<string, Situation>> = {
  'the file': { store: 'closed', suffix: '', isOpen: false },
  'the file beside a WAL': { store: 'killed', suffix: '', isOpen: false },
  'the WAL': { store: 'killed', suffix: '-wal', isOpen: false },
  'the file while it is open': { store: 'closed', suffix: '', isOpen: true },
  'the file beside a WAL while it is open': { store: 'killed', suffix: '', isOpen: true },
  'the WAL while it is open': { store: 'killed', suffix: '-wal', isOpen: true }
}

/** How the stores of one situation and kind of damage were used. */
export interface DamageFigures {
  stores: number
  setAside: number
  /** Ended the process. */
  crashed: number
  /** The fewest profiles that were read from a store that was not set aside. */
  leastRead: number
  /** Profiles that were read and are not what was put. */
  wrong: number
  /** Profiles that were put after the damage and are not there, although no store was set aside after that. */
  lost: number
  /** Profiles that are not there because the damage was found after they were put. */
  lostLate: number
  errors: string[]
}

const NOTHING: Omit<DamageFigures, 'errors'> =
  { stores: 0, setAside: 0, crashed: 0, leastRead: STORED, wrong: 0, lost: 0, lostLate: 0 }

/** Damages stores by chance, which a process uses then; the same seed damages them in the same way. */
export async function damageStores (
  rounds: number, seed: number, report: (line: string) => void = () => {}
): Promise<Record<string, DamageFigures>> {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-damage-'))
  const random = generator(seed)
  const figures: Record<string, DamageFigures> = {}
  let child: ChildProcess | null = null
  try {
    await createStores(folder)
    for (let round = 0; round < rounds; round++) {
      for (const [situation, { store, suffix, isOpen }] of Object.entries(SITUATIONS)) {
        for (const [kind, damage] of Object.entries(DAMAGES)) {
          const name = `${situation}: ${kind}`
          const of = figures[name] ??= { ...NOTHING, errors: [] }
          of.stores++
          const copy = join(folder, 'copy')
          const path = join(copy, 'profiles.db')
          mkdirSync(copy)
          for (const end of ['', '-wal']) {
            if (existsSync(join(folder, store + end))) copyFileSync(join(folder, store + end), path + end)
          }
          const content = join(copy, 'damaged')
          writeFileSync(content, damage(readFileSync(path + suffix), random))
          if (!isOpen) copyFileSync(content, path + suffix)
          child ??= await begin()
          const outcome = await outcomeOf(child, { path, overwrite: isOpen ? { file: path + suffix, content } : null })
          if (typeof outcome === 'string') {
            of.crashed++
            report(`${name}, round ${round}: ${outcome}`)
            child.kill('SIGKILL')
            child = null
          } else note(of, outcome)
          rmSync(copy, { recursive: true })
        }
      }
    }
  } finally {
    child?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  return figures
}

/** One store that was closed, and the same as a process leaves it that is killed: the newest profiles are in the WAL. */
async function createStores (folder: string): Promise<void> {
  const path = join(folder, 'closed')
  const put = async (storage: SqliteStorage, from: number, to: number): Promise<void> => {
    for (let at = from; at < to; at += 20) {
      await storage.put(tokens(at, at + 19).map((token) => recordOf(expected(token))))
    }
  }
  const first = new SqliteStorage({ path, maxProfiles: 5_000 })
  await put(first, 1, CHECKPOINTED)
  await first.close()
  checkpoint(path)
  const storage = new SqliteStorage({ path, maxProfiles: 5_000 })
  await put(storage, CHECKPOINTED + 1, STORED)
  await storage.pin('000005', true)
  await storage.purge({ url: '/00002' })
  for (const suffix of ['', '-wal']) copyFileSync(path + suffix, join(folder, `killed${suffix}`))
  await storage.close()
  checkpoint(path)
  rmSync(`${path}-wal`, { force: true })
}

/** Moves all from the WAL to the file. */
function checkpoint (path: string): void {
  const library = findLibrary() as '@photostructure/sqlite'
  const { DatabaseSync } = createRequire(import.meta.url)(library) as typeof import('@photostructure/sqlite')
  const database = new DatabaseSync(path)
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
}

function note (of: DamageFigures, { setAside, read, wrong, errors, lost, lostLate }: Outcome): void {
  if (setAside > 0) of.setAside++
  else of.leastRead = Math.min(of.leastRead, read)
  of.wrong += wrong.length
  of.lost += lost
  of.lostLate += lostLate
  for (const error of errors) if (!of.errors.includes(error.slice(0, 200))) of.errors.push(error.slice(0, 200))
}

async function begin (): Promise<ChildProcess> {
  const file = join(import.meta.dirname, 'damaged.ts')
  const child = fork(file, { execArgv: ['--import=tsx'], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  await once(child, 'message')
  return child
}

async function outcomeOf (child: ChildProcess, order: Order): Promise<Outcome | string> {
  child.send(order)
  return await new Promise((resolve) => {
    const timer = setTimeout(() => { child.kill('SIGKILL') }, 300_000)
    const done = (outcome: Outcome | string): void => {
      clearTimeout(timer)
      child.off('message', onMessage)
      child.off('exit', onExit)
      resolve(outcome)
    }
    const onMessage = (message: { outcome?: Outcome, broken?: string }): void => {
      done(message.outcome ?? String(message.broken))
    }
    const onExit = (code: number | null, signal: string | null): void => done(`the process ended: ${signal ?? code}`)
    child.on('message', onMessage)
    child.on('exit', onExit)
  })
}

/** Numbers from 0 to 1 that a seed repeats (mulberry32). */
function generator (seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6D2B79F5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
