import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Criteria } from '../lib/profiler/storage/criteria.js'
import { openStorage } from '../lib/profiler/storage/open.js'
import type { ProfileStorage } from '../lib/profiler/storage/storage.js'
import { recordOf } from '../lib/profiler/summary.js'
import { lastHour, sampleProfile, timeOf, tokenOf } from './sample-profile.js'

const BATCH = 50
const REPEATS = 7
// What writes cost is told of so many rounds at the end, when the store has its size; the profiles of a round are made before it.
const ROUNDS = 9
const ROUND = 500

const { values } = parseArgs({
  options: {
    profiles: { type: 'string', default: '1000,100000' },
    folder: { type: 'string', default: tmpdir() },
    // A server that is emptied: what it keeps is lost.
    postgres: { type: 'string' },
    json: { type: 'boolean', default: false },
    start: { type: 'string' }
  }
})

type Figures = Record<string, number>

/** What costs time in a fresh process: loading and opening the store, and the first answer, for which its thread starts. */
async function startUp (dataDir: string): Promise<void> {
  const since = performance.now()
  const storage = await openStorage({ dataDir, maxProfiles: 1e9, maxBytes: 1e12 })
  const opened = performance.now()
  await storage.search({ limit: 10 })
  console.log(JSON.stringify({ open: opened - since, first: performance.now() - opened, rss: ownMemory() }))
  await storage.close()
}

/** Pages of files that the system has mapped and may take back at any time are no memory of the process. */
function ownMemory (): number {
  try {
    return Number(/^RssAnon:\s*(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1_024
  } catch {
    return process.memoryUsage.rss() / 2 ** 20
  }
}

async function fill (storage: ProfileStorage, from: number, to: number): Promise<void> {
  for (let at = from; at < to; at += BATCH) {
    await storage.put(Array.from({ length: Math.min(BATCH, to - at) }, (_, i) => recordOf(sampleProfile(at + i))))
  }
}

/** System calls that have written, and what they were given, of the whole process so far; `NaN` where the system does not tell. */
function written (): { calls: number, bytes: number } {
  try {
    const io = readFileSync('/proc/self/io', 'utf8')
    return { calls: Number(/^syscw: (\d+)/m.exec(io)?.[1]), bytes: Number(/^wchar: (\d+)/m.exec(io)?.[1]) }
  } catch {
    return { calls: NaN, bytes: NaN }
  }
}

/** Batches one after another; the time of the thread that writes counts too. */
async function write (storage: ProfileStorage, from: number): Promise<Figures> {
  const rounds: Array<Record<'cpu' | 'system' | 'elapsed', number>> = []
  const before = written()
  for (let round = 0; round < ROUNDS; round++) {
    const profiles = Array.from({ length: ROUND }, (_, i) => recordOf(sampleProfile(from + round * ROUND + i)))
    const cpu = process.cpuUsage()
    const since = performance.now()
    for (let at = 0; at < ROUND; at += BATCH) await storage.put(profiles.slice(at, at + BATCH))
    const elapsed = performance.now() - since
    const { user, system } = process.cpuUsage(cpu)
    rounds.push({ cpu: (user + system) / ROUND, system: system / ROUND, elapsed })
  }
  const middle = (name: 'cpu' | 'system' | 'elapsed'): number => middleOf(rounds.map((round) => round[name]))
  const after = written()
  const batches = ROUNDS * ROUND / BATCH
  return {
    'write, CPU µs': middle('cpu'),
    'of it system': middle('system'),
    'writes a second': ROUND / middle('elapsed') * 1_000,
    'write calls a batch of 50': (after.calls - before.calls) / batches,
    'kB written by these': (after.bytes - before.bytes) / batches / 1_000
  }
}

function middleOf (values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? NaN
}

async function median (work: (repeat: number) => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const since = performance.now()
    await work(repeat)
    times.push(performance.now() - since)
  }
  return middleOf(times)
}

async function measure (profiles: number): Promise<Figures> {
  const folder = mkdtempSync(join(values.folder, 'hindsight-bench-'))
  const path = join(folder, 'profiles.db')
  try {
    const storage = await openStorage({ storage: values.postgres ?? 'sqlite', dataDir: folder, maxProfiles: 1e9, maxBytes: 1e12 })
    if (values.postgres !== undefined) await storage.purge({}, { pinned: true })
    await fill(storage, 0, profiles)
    const bytes = values.postgres === undefined ? statSync(path).size / profiles : NaN
    const figures = await write(storage, profiles)
    figures['bytes of JSON each'] = Buffer.byteLength(JSON.stringify(sampleProfile(0)))
    figures['bytes each on disk'] = bytes
    const search = (criteria: Criteria): Promise<number> => median(async () => await storage.search({ criteria, limit: 10 }))
    const rare = (await storage.get(tokenOf(profiles >> 4)))?.url.slice(20, 38) ?? ''
    figures['look-up'] = await median(async (repeat) => await storage.get(tokenOf(Math.floor(profiles / REPEATS * repeat))))
    figures['latest ten'] = await search({})
    figures['status=404'] = await search({ status: '404' })
    figures['4xx within an hour'] = await search({ status: '4xx', from: lastHour(profiles), until: timeOf(profiles) })
    figures['4xx within an old hour'] = await search({ status: '4xx', from: timeOf(0), until: timeOf(profiles / 20) })
    figures['URL text, common'] = await search({ url: 'articles' })
    figures['URL text, rare'] = await search({ url: rare })
    figures['URL text, absent'] = await search({ url: 'wp-login.php' })
    figures['URL text, absent, two letters'] = await search({ url: '%%' })
    figures['exception text'] = await search({ exception: 'cannot read' })
    figures['exception text, absent'] = await search({ exception: 'ECONNREFUSED' })
    figures['ip, absent'] = await search({ ip: '10.9.9.9' })
    figures['ip range, absent'] = await search({ ip: '192.168.0.0/16' })
    figures['duration, absent'] = await search({ minDuration: 1_000 })
    figures['MB resident'] = ownMemory()
    await storage.close()
    if (values.postgres === undefined) Object.assign(figures, freshProcess(folder))
    return figures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function freshProcess (dataDir: string): Figures {
  const { stdout } = spawnSync(process.execPath, [...process.execArgv, import.meta.filename, '--start', dataDir], { encoding: 'utf8' })
  const { open = NaN, first = NaN, rss = NaN } = JSON.parse(stdout) as Figures
  return { 'start: open the store': open, 'start: first answer': first, 'MB resident at start': rss }
}

if (values.start !== undefined) {
  await startUp(values.start)
} else {
  // The first store is not one to be measured: code is compiled while it fills.
  await measure(5_000)
  const table: Record<string, Figures> = {}
  for (const size of values.profiles.split(',')) table[Number(size).toLocaleString('en')] = await measure(Number(size))
  if (values.json) {
    console.log(JSON.stringify(table))
  } else {
    const rows: Record<string, Record<string, number>> = {}
    for (const [size, figures] of Object.entries(table)) {
      for (const [name, value] of Object.entries(figures)) (rows[name] ??= {})[size] = Number(value.toPrecision(4))
    }
    console.table(rows)
  }
}
