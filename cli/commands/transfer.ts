import { open as openFile } from 'node:fs/promises'
import { Ajv } from 'ajv'
import { boundedRecord } from '../../lib/profiler/bounds.js'
import { PROFILE_VERSION, type Profile } from '../../lib/profiler/profile.js'
import { withEvents } from '../../lib/profiler/stored-events.js'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { visibleJson } from '../../lib/view/json.js'
import { MAX_LIMIT, SEARCH, searchOf, type Command } from '../command.js'

/** Bytes of a stored profile. */
const MAX_PROFILE = 4 * 1024 * 1024
/** ISO 8601 in UTC with milliseconds. */
const TIME = '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z$'

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
    await print({ imported, skipped }, () => [`${imported} imported, ${skipped} skipped, which are stored already.`])
  }
}

// Throws an error that names what is invalid.
function readLine (line: string, place: string): Line {
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

const text = { type: 'string' }
const texts = { type: 'array', items: text }
const token = { type: 'string', pattern: TOKEN_PATTERN.source }

function objectOf (required: Record<string, object>, optional: Record<string, object> = {}): object {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } }
}

function listOf (properties: Record<string, object>): object {
  return { type: 'array', items: objectOf(properties) }
}

const profile = objectOf({
  version: { const: PROFILE_VERSION },
  token,
  time: { type: 'string', pattern: TIME },
  duration: { type: 'number', minimum: 0 },
  method: { type: 'string', maxLength: 100 },
  url: text,
  ip: { type: 'string', maxLength: 100 },
  status: { type: 'integer', minimum: 0, maximum: 999 },
  route: { anyOf: [{ type: 'null' }, objectOf({ name: text, pattern: text, params: objectOf({}), methods: texts })] },
  exceptions: listOf({ name: text, message: text, frames: listOf({}), stack: text }),
  logs: listOf({ time: text, level: text, channel: text, message: text, context: objectOf({}) }),
  events: listOf({ stage: text, listener: text, pass: text, outcome: text, start: { type: 'number' } }),
  collectors: objectOf({})
}, { parent: token, replayOf: token })

/** Checks what a store indexes. Panels and Markdown leave out other parts that are invalid. */
const isLine = new Ajv().compile<Line>(objectOf({ profile, pinned: { type: 'boolean' } }))
