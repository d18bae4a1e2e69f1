import { open as openFile } from 'node:fs/promises'
import { boundedRecord } from '../../lib/store/summary.js'
import { PROFILE_VERSION, TOKEN_PATTERN, readProfile, type Profile } from '../../lib/store/profile.js'
import { MAX_LIMIT, SEARCH, searchOf, type Command } from '../command.js'

/** Bytes of a stored profile. */
const MAX_PROFILE = 4 * 1024 * 1024

interface Line {
  profile: Profile
  pinned: boolean
}

export const exportCommand: Command = {
  args: '',
  summary: 'write profiles to standard output, for import',
  options: SEARCH,
  run: async ({ flags, terminal, open }) => {
    const store = await open()
    const { profiles } = await store.search(searchOf({ limit: String(MAX_LIMIT), ...flags }))
    // Oldest first, as a store takes them. They are read one by one, as all of them may not fit in memory.
    for (const { token, pinned } of profiles.toReversed()) {
      const profile = await store.get(token)
      // The store may have evicted it since the search.
      if (profile !== undefined) await terminal.json({ profile, pinned } satisfies Line)
    }
  }
}

export const importCommand: Command = {
  args: '<file>',
  summary: 'import the profiles of an exported file',
  run: async ({ args: [path = ''], print, open }) => {
    const file = await openFile(path)
    let imported = 0
    let number = 0
    try {
      for await (const line of file.readLines()) {
        number++
        const { profile, pinned } = readLine(line, `${path}, line ${number}`)
        const store = await open()
        if (await store.get(profile.token) !== undefined) continue
        await store.put([boundedRecord(profile, MAX_PROFILE)])
        if (pinned) await store.pin(profile.token, true)
        imported++
      }
    } finally {
      await file.close()
    }
    const skipped = number - imported
    await print({ imported, skipped }, () => [`${imported} imported, ${skipped} skipped: they are stored already.`])
  }
}

function readLine (line: string, place: string): Line {
  try {
    const { profile, pinned } = Object(JSON.parse(line)) as Line
    const { version, token, time } = readProfile(Object(profile) as Profile)
    if (version !== PROFILE_VERSION) throw new Error(`"version" must be ${PROFILE_VERSION}.`)
    if (!TOKEN_PATTERN.test(token)) throw new Error('"token" must be six hexadecimal digits.')
    if (Number.isNaN(Date.parse(time))) throw new Error('"time" must be a date.')
    return { profile, pinned }
  } catch (error) {
    throw new Error(`${place}: ${(error as Error).message}`)
  }
}
