import { createReadStream, type ReadStream } from 'node:fs'
import type { ProfileStorage } from '../../lib/profiler/storage/storage.js'
import { recordOf } from '../../lib/profiler/summary.js'
import { boundProfile } from '../../lib/profiler/bounds.js'
import { readHeader, readLine, TransferError, type Transferred } from '../../lib/profiler/transfer.js'
import { boundedLines } from '../bounded-lines.js'
import { CommandError, type Command } from '../command.js'

const BATCH = 50
const MAX_PROFILE = 4 * 1024 * 1024
/** A profile that is stored has far fewer. */
const MAX_LINE = 16 * 1024 * 1024

interface Outcome {
  imported: number
  /** Stored here already, with the same token and time. */
  known: number
  /** Another profile has the token, here or ahead in the file. */
  conflicts: string[]
}

/** Reads what `export` wrote into the store. */
export const importCommand: Command = {
  name: 'import',
  args: '<file>',
  what: 'read a file of export (- for standard input) into the store',
  arity: [1, 1],
  async run ({ args: [path = ''], flags, terminal, open }) {
    const input = path === '-' ? process.stdin : await opened(path)
    const store = await open()
    const outcome: Outcome = { imported: 0, known: 0, conflicts: [] }
    let batch: Transferred[] = []
    let number = 0
    for await (const line of boundedLines(input, MAX_LINE)) {
      number++
      if (line === '') continue
      try {
        if (line === null) throw new TransferError(`This line has more than ${MAX_LINE / 1024 / 1024} MiB.`)
        if (number === 1) readHeader(line)
        else batch.push(readLine(line))
      } catch (error) {
        if (!(error instanceof TransferError)) throw error
        await keep(store, batch, outcome)
        throw new CommandError(`${path}, line ${number}: ${error.message} ${outcome.imported} profiles before it were imported.`)
      }
      if (batch.length < BATCH) continue
      await keep(store, batch, outcome)
      batch = []
    }
    if (number === 0) throw new CommandError(`${path} is empty.`)
    await keep(store, batch, outcome)
    if (flags.json === true) return await terminal.json(outcome)
    await terminal.line(`${outcome.imported} imported, ${outcome.known} known already.`)
    if (outcome.conflicts.length > 0) await terminal.line(`Left out, as another profile has the token here: ${outcome.conflicts.join(' ')}`)
  }
}

async function opened (path: string): Promise<ReadStream> {
  const stream = createReadStream(path)
  await new Promise<void>((resolve, reject) => {
    stream.once('open', () => resolve())
    stream.once('error', (error) => reject(new CommandError(`${path} cannot be read: ${error.message}`)))
  })
  return stream
}

async function keep (store: ProfileStorage, batch: readonly Transferred[], outcome: Outcome): Promise<void> {
  const fresh = new Map<string, Transferred>()
  for (const one of batch) {
    const { token, time } = one.profile
    // A file may have a token twice.
    const there = fresh.get(token)?.profile ?? await store.get(token)
    if (there === undefined) fresh.set(token, one)
    else if (there.time === time) outcome.known++
    else outcome.conflicts.push(token)
  }
  await store.put([...fresh.values()].map(({ profile }) => recordOf(boundProfile(profile, MAX_PROFILE))))
  for (const { profile, pinned } of fresh.values()) if (pinned) await store.pin(profile.token, true)
  outcome.imported += fresh.size
}
