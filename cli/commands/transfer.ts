import { once } from 'node:events'
import { createReadStream, createWriteStream, type ReadStream } from 'node:fs'
import { boundProfile } from '../../lib/profiler/bounds.js'
import type { SearchQuery } from '../../lib/profiler/search-query.js'
import type { ProfileStorage } from '../../lib/profiler/storage/storage.js'
import { recordOf } from '../../lib/profiler/summary.js'
import {
  EXPORT_HEADER, readHeader, readLine, TransferError, type ExportedProfile
} from '../../lib/profiler/transfer.js'
import { counted } from '../../lib/view/counted.js'
import { CommandError, notWritable, searchOf, type Command } from '../command.js'
import { Terminal } from '../terminal.js'

const PAGE = 200
const BATCH = 50
/** Bytes of a stored profile, and characters of a line. */
const MAX_PROFILE = 4 * 1024 * 1024
const MAX_LINE = 16 * 1024 * 1024

export const exportCommand: Command = {
  name: 'export',
  args: '[file]',
  summary: 'write matching profiles to a file, or to standard output, for import elsewhere',
  criteria: 'pages',
  arity: [0, 1],
  run: async ({ args: [path = '-'], flags, terminal, open }) => {
    const search = searchOf(flags)
    const profiles = exportedProfiles(await open(), search, flags.limit === undefined ? Infinity : search.limit)
    if (path === '-') return await writeLines(profiles, terminal).then(() => {})
    const file = createWriteStream(path, { flags: 'wx', mode: 0o600 })
    await once(file, 'open').catch((error: unknown) => { throw notWritable(path, error) })
    const exported = await writeLines(profiles, new Terminal(file))
    await new Promise<void>((resolve) => { file.end(resolve) })
    if (flags.json === true) await terminal.json({ exported })
    else await terminal.line(`${counted(exported, 'profile was', 'profiles were')} written to ${path}.`)
  }
}

async function writeLines (profiles: AsyncIterable<ExportedProfile>, out: Terminal): Promise<number> {
  let count = 0
  await out.json({ ...EXPORT_HEADER, time: new Date().toISOString() })
  for await (const one of profiles) {
    await out.json(one)
    count++
  }
  return count
}

// Oldest first, as a store takes them. The profiles are read one by one: a store may hold more than fits in memory.
async function * exportedProfiles (
  store: ProfileStorage, { criteria, cursor }: SearchQuery, limit: number
): AsyncGenerator<ExportedProfile> {
  const found: Array<{ token: string, pinned: boolean }> = []
  let next = cursor ?? null
  do {
    const most = Math.min(PAGE, limit - found.length)
    const page = await store.search({ criteria, limit: most, ...(next !== null && { cursor: next }) })
    found.push(...page.profiles.map(({ token, pinned }) => ({ token, pinned })))
    next = page.next
  } while (next !== null && found.length < limit)
  for (const { token, pinned } of found.reverse()) {
    const profile = await store.get(token)
    // The store may have evicted it in the meantime.
    if (profile !== undefined) yield { profile, pinned }
  }
}

/** The counts of an import. */
interface Outcome {
  imported: number
  /** Profiles that the store has already. */
  known: number
  /** Tokens of which the store, or the file, has another profile. */
  conflicts: string[]
}

export const importCommand: Command = {
  name: 'import',
  args: '<file>',
  summary: 'read a file of export (- for standard input) into the store',
  arity: [1, 1],
  run: async ({ args: [path = ''], flags, terminal, open }) => {
    const input = path === '-' ? process.stdin : await openFile(path)
    const store = await open()
    const outcome: Outcome = { imported: 0, known: 0, conflicts: [] }
    const batch: ExportedProfile[] = []
    // The number of the line that is being read.
    let number = 1
    try {
      for await (const line of boundedLines(input)) {
        if (number === 1) readHeader(line)
        else if (line !== '') batch.push(readLine(line))
        if (batch.length === BATCH) await storeBatch(store, batch.splice(0), outcome)
        number++
      }
    } catch (error) {
      if (!(error instanceof TransferError)) throw error
      await storeBatch(store, batch, outcome)
      const place = `${path}, line ${number}`
      throw new CommandError(`${place}: ${error.message} ${outcome.imported} profiles before it were imported.`)
    }
    if (number === 1) throw new CommandError(`${path} is empty.`)
    await storeBatch(store, batch, outcome)
    if (flags.json === true) return await terminal.json(outcome)
    await terminal.line(`${outcome.imported} imported, ${outcome.known} known already.`)
    if (outcome.conflicts.length > 0) {
      await terminal.line(`Left out, as the store has another profile with the token: ${outcome.conflicts.join(' ')}`)
    }
  }
}

async function openFile (path: string): Promise<ReadStream> {
  const stream = createReadStream(path)
  try {
    await once(stream, 'open')
    return stream
  } catch (error) {
    throw new CommandError(`${path} cannot be read: ${(error as Error).message}`)
  }
}

/** The lines of a stream. Throws a `TransferError` as soon as a line is too long. */
async function * boundedLines (input: ReadStream | NodeJS.ReadStream): AsyncGenerator<string> {
  let parts: string[] = []
  let length = 0
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    for (const [i, part] of chunk.split('\n').entries()) {
      if (i > 0) {
        yield parts.join('').replace(/\r$/, '')
        parts = []
        length = 0
      }
      parts.push(part)
      length += part.length
      if (length > MAX_LINE) throw new TransferError(`This line has more than ${MAX_LINE / 1024 / 1024} MiB.`)
    }
  }
  if (length > 0) yield parts.join('').replace(/\r$/, '')
}

async function storeBatch (store: ProfileStorage, batch: readonly ExportedProfile[], outcome: Outcome): Promise<void> {
  const fresh = new Map<string, ExportedProfile>()
  for (const one of batch) {
    const { token, time } = one.profile
    const existing = fresh.get(token)?.profile ?? await store.get(token)
    if (existing === undefined) fresh.set(token, one)
    else if (existing.time === time) outcome.known++
    else outcome.conflicts.push(token)
  }
  await store.put([...fresh.values()].map(({ profile }) => recordOf(boundProfile(profile, MAX_PROFILE))))
  for (const { profile, pinned } of fresh.values()) if (pinned) await store.pin(profile.token, true)
  outcome.imported += fresh.size
}
