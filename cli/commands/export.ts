import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import type { ProfileStorage } from '../../lib/profiler/storage/storage.js'
import type { SearchQuery } from '../../lib/profiler/search-query.js'
import { exportHeader, exportLine } from '../../lib/profiler/transfer.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { CommandError, type Command } from '../command.js'
import { readFlags } from '../criteria.js'
import { Terminal } from '../terminal.js'
import { counted } from '../../lib/view/counted.js'

const PAGE = 200

interface Exported {
  profile: Profile
  pinned: boolean
}

/** Writes what fits to a file that `import` reads, on this machine or another. */
export const exportCommand: Command = {
  name: 'export',
  args: '[file]',
  what: 'write what fits to a file, or to standard output, for import elsewhere',
  criteria: true,
  arity: [0, 1],
  async run ({ args: [path], flags, terminal, open }) {
    const search = readFlags(flags)
    const store = await open()
    const profiles = profilesOf(store, search, flags.limit === undefined ? Infinity : search.limit)
    const file = path === undefined || path === '-' ? null : createWriteStream(path, { flags: 'wx', mode: 0o600 })
    try {
      if (file !== null) await once(file, 'open')
    } catch (error) {
      throw new CommandError((error as NodeJS.ErrnoException).code === 'EEXIST' ? `${path} is there already.` : `${path} cannot be written: ${(error as Error).message}`)
    }
    const out = file === null ? terminal : new Terminal(file)
    const count = await writeProfiles(profiles, out)
    if (file === null) return
    file.end()
    await once(file, 'close')
    if (flags.json === true) await terminal.json({ exported: count })
    else await terminal.line(`${counted(count, 'profile was', 'profiles were')} written to ${path}.`)
  }
}

async function writeProfiles (profiles: AsyncIterable<Exported>, out: Terminal): Promise<number> {
  await out.json(exportHeader())
  let count = 0
  for await (const { profile, pinned } of profiles) {
    await out.json(exportLine(profile, pinned))
    count++
  }
  return count
}

// Oldest first, which is the order that a store takes them in; the tokens of a million profiles are few bytes.
async function * profilesOf (store: ProfileStorage, { criteria, cursor }: SearchQuery, most: number): AsyncGenerator<Exported> {
  const found: Array<[token: string, pinned: boolean]> = []
  for (let next = cursor ?? null, first = true; first || (next !== null && found.length < most); first = false) {
    const page = await store.search({ criteria, limit: Math.min(PAGE, most - found.length), ...(next !== null && { cursor: next }) })
    for (const { token, pinned } of page.profiles) found.push([token, pinned])
    next = page.next
  }
  for (const [token, pinned] of found.reverse()) {
    const profile = await store.get(token)
    // It may have been evicted meanwhile.
    if (profile !== undefined) yield { profile, pinned }
  }
}
