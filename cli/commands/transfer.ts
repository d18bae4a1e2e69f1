import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Ajv } from 'ajv'
import { boundProfile } from '../../lib/profiler/bounds.js'
import { PROFILE_VERSION, type Profile } from '../../lib/profiler/profile.js'
import { recordOf } from '../../lib/profiler/summary.js'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { counted } from '../../lib/view/counted.js'
import { visibleJson } from '../../lib/view/json.js'
import { CommandError, MAX_LIMIT, searchOf, type Command } from '../command.js'

/** The first line of an export; the others are `{ profile, pinned }`. */
const HEADER = { hindsight: 'profiles', version: 1 }
/** Bytes of a stored profile, and characters of a line. */
const MAX_PROFILE = 4 * 1024 * 1024
const MAX_LINE = 16 * 1024 * 1024

export const exportCommand: Command = {
  args: '[file]',
  summary: 'write profiles to a file or to standard output, for import',
  criteria: 'pages',
  run: async ({ args: [path = '-'], flags, terminal, print, open }) => {
    const search = searchOf({ limit: String(MAX_LIMIT), ...flags })
    const store = await open()
    const { profiles } = await store.search(search)
    let exported = 0
    // Oldest first, as a store takes them. They are read one by one, as all of them may not fit in memory.
    async function * lines (): AsyncGenerator<string> {
      yield `${visibleJson({ ...HEADER, time: new Date().toISOString() })}\n`
      for (const { token, pinned } of profiles.toReversed()) {
        const profile = await store.get(token)
        // The store may have evicted it since the search.
        if (profile === undefined) continue
        yield `${visibleJson({ profile, pinned })}\n`
        exported++
      }
    }
    if (path === '-') {
      for await (const line of lines()) await terminal.line(line.trimEnd())
      return
    }
    await writeFile(path, lines(), { flag: 'wx', mode: 0o600 })
    await print({ exported }, () => [`${counted(exported, 'profile was', 'profiles were')} written to ${path}.`])
  }
}

export const importCommand: Command = {
  args: '<file>',
  summary: 'import the profiles of an exported file (- for standard input)',
  run: async ({ args: [path = ''], print, open }) => {
    // How many the store has already, and the tokens of which it has another profile.
    let imported = 0
    let known = 0
    const conflicts: string[] = []
    let number = 1
    try {
      for await (const line of linesOf(path)) {
        if (number === 1) checkHeader(line)
        else if (line.trim() !== '') {
          const { profile, pinned } = readProfile(line)
          const store = await open()
          const existing = await store.get(profile.token)
          if (existing === undefined) {
            await store.put([recordOf(boundProfile(profile, MAX_PROFILE))])
            if (pinned) await store.pin(profile.token, true)
            imported++
          } else if (existing.time === profile.time) known++
          else conflicts.push(profile.token)
        }
        number++
      }
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      const place = `${path}, line ${number}`
      throw new CommandError(`${place}: ${error.message} ${imported} profiles before it were imported.`)
    }
    if (number === 1) throw new CommandError(`${path} is empty.`)
    await print({ imported, known, conflicts }, () => [
      `${imported} imported, ${known} already stored.`,
      ...conflicts.length === 0
        ? []
        : [`Left out, as the store has another profile with the token: ${conflicts.join(' ')}`]
    ])
  }
}

/** The lines of a file, or of standard input for `-`; a line that is too long is the last one. */
async function * linesOf (path: string): AsyncGenerator<string> {
  const input = path === '-' ? process.stdin : createReadStream(path)
  let rest = ''
  for await (const chunk of input.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield * lines
    if (rest.length > MAX_LINE) break
  }
  if (rest !== '') yield rest
}

// Throws a `CommandError` when this version cannot read the file.
function checkHeader (line: string): void {
  const { hindsight, version } = parse(line)
  if (hindsight !== HEADER.hindsight) {
    throw new CommandError('This is not a file that "fastify-hindsight export" has written.')
  }
  if (version !== HEADER.version) {
    throw new CommandError(`This file has version ${String(version)} of the format; version 1 can be read.`)
  }
}

// Throws a `CommandError` that names what is invalid.
function readProfile (line: string): { profile: Profile, pinned: boolean } {
  const { profile, pinned } = parse(line)
  if (!isProfile(profile)) {
    const { instancePath = '', message = '' } = isProfile.errors?.[0] ?? {}
    const what = instancePath === '' ? 'it' : instancePath.slice(1).replaceAll('/', '.')
    throw new CommandError(`The profile is not valid: ${what} ${message}.`)
  }
  return { profile, pinned: pinned === true }
}

function parse (line: string): Record<string, unknown> {
  if (line.length > MAX_LINE) throw new CommandError(`This line has more than ${MAX_LINE / 1024 / 1024} MiB.`)
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new CommandError('This is not JSON.')
  }
  if (typeof value !== 'object' || value === null) throw new CommandError('This is not an object.')
  return value as Record<string, unknown>
}

const text = { type: 'string' }
const token = { type: 'string', pattern: TOKEN_PATTERN.source }

function list (items: object): object {
  return { type: 'array', items }
}

function object (required: Record<string, object>, optional: Record<string, object> = {}): object {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } }
}

/** Checks what a store indexes. Panels and Markdown leave out other parts that are invalid. */
const isProfile = new Ajv({ formats: { time: isTime } }).compile<Profile>(object({
  version: { const: PROFILE_VERSION },
  token,
  time: { type: 'string', format: 'time' },
  duration: { type: 'number', minimum: 0 },
  method: { type: 'string', maxLength: 100 },
  url: text,
  ip: { type: 'string', maxLength: 100 },
  status: { type: 'integer', minimum: 0, maximum: 999 },
  route: { anyOf: [{ type: 'null' }, object({ name: text, pattern: text, params: object({}), methods: list(text) })] },
  exceptions: list(object({ name: text, message: text, frames: list(object({})), stack: text })),
  logs: list(object({ time: text, level: text, channel: text, message: text, context: object({}) })),
  events: list(object({ stage: text, listener: text, pass: text, outcome: text, start: { type: 'number' } })),
  collectors: object({})
}, { parent: token, replayOf: token }))

// ISO 8601 in UTC with milliseconds, of a day that exists.
function isTime (text: string): boolean {
  const time = new Date(text)
  return text.length === 24 && !Number.isNaN(time.getTime()) && time.toISOString() === text
}
