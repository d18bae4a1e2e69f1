import { open as openFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { boundedRecord } from '../../lib/store/bounds.js'
import type { Profile } from '../../lib/store/profile.js'
import { withEvents } from '../../lib/store/stored-events.js'
import { require } from '../../lib/require.js'
import { visibleJson } from '../../lib/view/json.js'
import { MAX_LIMIT, SEARCH, searchOf, type Command } from '../command.js'

/** Bytes of a stored profile. */
const MAX_PROFILE = 4 * 1024 * 1024

/** A line of an export. */
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
      if (profile === undefined) continue
      await terminal.lines([visibleJson({ profile: withEvents(profile), pinned } satisfies Line)])
    }
  }
}

export const importCommand: Command = {
  args: '<file>',
  summary: 'import the profiles of an exported file',
  run: async ({ args: [path = ''], print, open }) => {
    const isLine = lineCheck()
    const file = await openFile(path)
    let imported = 0
    let number = 0
    try {
      for await (const line of file.readLines()) {
        number++
        const { profile, pinned } = readLine(line, isLine, `${path}, line ${number}`)
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

function lineCheck (): ValidateFunction<Line> {
  const root = dirname(require.resolve('fastify-hindsight/package.json'))
  const schema = require(join(root, 'docs/reference/profile.schema.json')) as object
  return new Ajv({ removeAdditional: true, formats: fullFormats }).addSchema(schema, 'profile').compile({
    type: 'object',
    required: ['profile', 'pinned'],
    properties: { profile: { $ref: 'profile' }, pinned: { type: 'boolean' } }
  })
}

// Throws an error that names what is invalid.
function readLine (line: string, isLine: ValidateFunction<Line>, place: string): Line {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new Error(`${place}: This is not JSON.`)
  }
  if (isLine(value)) return value
  const { instancePath = '', message = '' } = isLine.errors?.[0] ?? {}
  throw new Error(`${place}: ${instancePath.slice(1) || 'It'} ${message}.`)
}
