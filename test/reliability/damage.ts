import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedStorage } from '../../plugins/profiler/storage/embedded.js'
import { tokens } from '../profiler/fixture.js'
import { expected, STORED, type Outcome } from './damaged.js'

/** What is done to the bytes of a store. */
type Damage = (bytes: Buffer, random: () => number) => Buffer

const PAGE = 4_096

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
  'two pages in each other’s place': (bytes, random) => {
    const [a, aEnd] = pageAt(bytes, random)
    const [b, bEnd] = pageAt(bytes, random)
    const kept = Buffer.from(bytes.subarray(a, aEnd))
    bytes.copy(bytes, a, b, bEnd)
    kept.copy(bytes, b)
    return bytes
  },
  'a bit in the head of a page': (bytes, random) => {
    const [start] = pageAt(bytes, random)
    const at = start + Math.floor(random() * 128)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(random() * 8))
    return bytes
  },
  'the end cut off': (bytes, random) => bytes.subarray(0, Math.floor(random() * bytes.length))
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

/** What became of the stores of one kind of damage. */
export interface DamageFigures {
  stores: number
  setAside: number
  /** Ended the process. */
  crashed: number
  /** The least of the profiles that were read from a store that was not set aside. */
  leastRead: number
  wrong: number
  /** Stores that did not keep all that was put behind the damage. */
  lossy: number
  errors: string[]
}

/** Damages stores by chance, a process using each; a seed repeats it. */
export async function damageStores (rounds: number, seed: number, told: (line: string) => void = () => {}): Promise<Record<string, DamageFigures>> {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-damage-'))
  const whole = join(folder, 'whole')
  const storage = await openEmbeddedStorage({ path: whole, maxProfiles: 5_000 })
  for (let at = 0; at < STORED; at += 20) await storage.put(tokens(at + 1, at + 20).map(expected))
  await storage.pin('000005', true)
  await storage.purge({ url: '/00002' })
  await storage.close()
  const bytes = readFileSync(whole)
  const random = generator(seed)
  const figures: Record<string, DamageFigures> = {}
  let child: ChildProcess | null = null
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [name, damage] of Object.entries(DAMAGES)) {
        const path = join(folder, `${round}-${Object.keys(figures).length}`, 'profiles')
        const of = figures[name] ??= { stores: 0, setAside: 0, crashed: 0, leastRead: STORED, wrong: 0, lossy: 0, errors: [] }
        of.stores++
        rmSync(join(path, '..'), { recursive: true, force: true })
        const { mkdirSync } = await import('node:fs')
        mkdirSync(join(path, '..'))
        writeFileSync(path, damage(Buffer.from(bytes), random))
        child ??= await begin()
        const outcome = await outcomeOf(child, path)
        if (typeof outcome === 'string') {
          of.crashed++
          told(`${name}, round ${round}: ${outcome}`)
          child = null
        } else note(of, outcome)
        rmSync(join(path, '..'), { recursive: true, force: true })
      }
    }
  } finally {
    child?.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  return figures
}

function note (of: DamageFigures, { setAside, refused, read, wrong, errors, kept }: Outcome): void {
  if (setAside) of.setAside++
  else of.leastRead = Math.min(of.leastRead, read)
  of.wrong += wrong.length
  if (kept < 60) of.lossy++
  for (const error of [refused, ...errors]) if (error !== '' && !of.errors.includes(error.slice(0, 200))) of.errors.push(error.slice(0, 200))
}

async function begin (): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'damaged.ts'), { execArgv: ['--import=tsx'], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  await once(child, 'message')
  return child
}

async function outcomeOf (child: ChildProcess, path: string): Promise<Outcome | string> {
  child.send(path)
  return await new Promise((resolve) => {
    const timer = setTimeout(() => { child.kill('SIGKILL') }, 30_000)
    const done = (outcome: Outcome | string): void => {
      clearTimeout(timer)
      child.off('message', onMessage)
      child.off('exit', onExit)
      resolve(outcome)
    }
    const onMessage = (message: { outcome?: Outcome, broken?: string }): void => done(message.outcome ?? String(message.broken))
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
