import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import type { ProfileStorage } from '../../../plugins/profiler/storage/storage.js'
import type { SearchQuery } from '../../../plugins/profiler/search-query.js'
import { exportHeader, exportLine } from '../../../plugins/profiler/transfer.js'
import { CommandError, type Command } from '../command.js'
import { readFlags } from '../criteria.js'
import { Terminal } from '../terminal.js'

const PAGE = 200

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
    const file = path === undefined || path === '-' ? null : createWriteStream(path, { flags: 'wx', mode: 0o600 })
    try {
      if (file !== null) await once(file, 'open')
    } catch (error) {
      throw new CommandError((error as NodeJS.ErrnoException).code === 'EEXIST' ? `${path} is there already.` : `${path} cannot be written: ${(error as Error).message}`)
    }
    const out = file === null ? terminal : new Terminal(file)
    await out.json(exportHeader())
    let count = 0
    for await (const line of linesOf(store, search, flags.limit === undefined ? Infinity : search.limit)) {
      await out.json(line)
      count++
    }
    if (file === null) return
    file.end()
    await once(file, 'close')
    if (flags.json === true) await terminal.json({ exported: count })
    else await terminal.line(`${count} ${count === 1 ? 'profile was' : 'profiles were'} written to ${path}.`)
  }
}

// Oldest first, which is the order that a store takes them in; the tokens of a million profiles are few bytes.
async function * linesOf (store: ProfileStorage, { criteria, cursor }: SearchQuery, most: number): AsyncGenerator<object> {
  const found: Array<[token: string, pinned: boolean]> = []
  for (let next = cursor ?? null, first = true; first || (next !== null && found.length < most); first = false) {
    const page = await store.search({ criteria, limit: Math.min(PAGE, most - found.length), ...(next !== null && { cursor: next }) })
    for (const { token, pinned } of page.profiles) found.push([token, pinned])
    next = page.next
  }
  for (const [token, pinned] of found.reverse()) {
    const profile = await store.get(token)
    // It may have been evicted meanwhile.
    if (profile !== undefined) yield exportLine(profile, pinned)
  }
}
