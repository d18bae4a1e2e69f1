import { Ajv, type ErrorObject } from 'ajv'
import { PROFILE_VERSION, type Profile } from './profile.js'

/** A line of an export. */
export interface ExportedProfile {
  profile: Profile
  pinned: boolean
}

/** A line is not one of an export. */
export class TransferError extends Error {}

/** The first line of an export. */
export const EXPORT_HEADER = { hindsight: 'profiles', version: 1 }

const text = { type: 'string' }
const number = { type: 'number' }
const token = { type: 'string', pattern: '^[0-9a-f]{6}$' }
const headerText = { type: ['string', 'null'] }

function list (items: object): object {
  return { type: 'array', items }
}

function object (required: Record<string, object>, optional: Record<string, object> = {}): object {
  return { type: 'object', required: Object.keys(required), properties: { ...required, ...optional } }
}

const exception = { $ref: '#/$defs/exception' }
const frame = object(
  { file: text, line: number, column: number, function: text, own: { type: 'boolean' } },
  { excerpt: object({ start: number, lines: list(text) }) }
)
const route = object({ name: text, pattern: text, params: object({}), methods: list(text) })
const level = { enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] }
const changes = object({}, {
  headers: list(object({ name: text, from: headerText, to: headerText })),
  status: object({ from: number, to: number }),
  attributes: list(text)
})

const isProfile = new Ajv({ allErrors: false, allowUnionTypes: true }).compile<Profile>({
  $defs: {
    exception: object(
      { name: text, message: text, frames: list(frame), stack: text },
      { code: text, statusCode: number, note: text, framesDropped: number, errors: list(list(exception)) }
    )
  },
  ...object({
    version: { const: PROFILE_VERSION },
    token,
    time: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' },
    duration: { type: 'number', minimum: 0 },
    method: { type: 'string', maxLength: 100 },
    url: text,
    ip: { type: 'string', maxLength: 100 },
    status: { type: 'integer', minimum: 0, maximum: 999 },
    route: { anyOf: [{ type: 'null' }, route] },
    exceptions: list(exception),
    logs: list(object({ time: text, level, channel: text, message: text, context: object({}) })),
    events: list(object(
      { stage: text, listener: text, pass: text, outcome: text, start: number, duration: number },
      { reason: text, changes }
    )),
    collectors: object({})
  }, { parent: token, replayOf: token, logsLeftOut: { type: 'integer', minimum: 1 } })
})

/** Checks the first line. Throws a `TransferError` when this version cannot read the file. */
export function readHeader (line: string): void {
  const { hindsight, version } = parsed(line)
  if (hindsight !== EXPORT_HEADER.hindsight) {
    throw new TransferError('This is not a file that "fastify-hindsight export" has written.')
  }
  if (version === EXPORT_HEADER.version) return
  const readable = EXPORT_HEADER.version
  throw new TransferError(`This file has version ${String(version)} of the format; version ${readable} can be read.`)
}

/** Reads any other line. Throws a `TransferError` that names what is invalid. */
export function readLine (line: string): ExportedProfile {
  const { profile, pinned } = parsed(line)
  if (!isProfile(profile)) throw new TransferError(`The profile is not valid: ${reasonOf(isProfile.errors?.[0])}.`)
  // The pattern allows a 99th month.
  const time = new Date(profile.time)
  if (Number.isNaN(time.getTime()) || time.toISOString() !== profile.time) {
    throw new TransferError(`The profile is not valid: time "${profile.time}" does not exist.`)
  }
  return { profile, pinned: pinned === true }
}

function parsed (line: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    throw new TransferError('This is not JSON.')
  }
  if (typeof value !== 'object' || value === null) throw new TransferError('This is not an object.')
  return value as Record<string, unknown>
}

function reasonOf (error: ErrorObject | undefined): string {
  const { instancePath = '', message = 'is wrong' } = error ?? {}
  return `${instancePath === '' ? 'it' : instancePath.slice(1).replaceAll('/', '.')} ${message}`
}
