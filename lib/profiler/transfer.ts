import { Ajv, type ErrorObject } from 'ajv'
import { PROFILE_VERSION, type Profile } from './profile.js'

/** A profile on its way between two stores. */
export interface Transferred {
  profile: Profile
  pinned: boolean
}

/** Raised for a line that is none of an export. */
export class TransferError extends Error {}

const KIND = 'profiles'
const VERSION = 1

const text = { type: 'string' } as const
const exception = {
  type: 'object',
  required: ['name', 'message', 'frames', 'stack'],
  properties: {
    name: text,
    message: text,
    stack: text,
    code: text,
    statusCode: { type: 'number' },
    note: text,
    framesDropped: { type: 'number' },
    errors: { type: 'array', items: { type: 'array', items: { $ref: '#/$defs/exception' } } },
    frames: {
      type: 'array',
      items: {
        type: 'object',
        required: ['file', 'line', 'column', 'function', 'own'],
        properties: {
          file: text,
          line: { type: 'number' },
          column: { type: 'number' },
          function: text,
          own: { type: 'boolean' },
          excerpt: { type: 'object', required: ['start', 'lines'], properties: { start: { type: 'number' }, lines: { type: 'array', items: text } } }
        }
      }
    }
  }
} as const

const headerText = { type: ['string', 'null'] } as const
const changes = {
  type: 'object',
  properties: {
    headers: { type: 'array', items: { type: 'object', required: ['name', 'from', 'to'], properties: { name: text, from: headerText, to: headerText } } },
    status: { type: 'object', required: ['from', 'to'], properties: { from: { type: 'number' }, to: { type: 'number' } } },
    attributes: { type: 'array', items: text }
  }
} as const

const isProfile = new Ajv({ allErrors: false, allowUnionTypes: true }).compile<Profile>({
  $defs: { exception },
  type: 'object',
  required: ['version', 'token', 'time', 'duration', 'method', 'url', 'ip', 'status', 'route', 'exceptions', 'logs', 'events', 'collectors'],
  properties: {
    version: { const: PROFILE_VERSION },
    token: { type: 'string', pattern: '^[0-9a-f]{6}$' },
    time: { type: 'string', pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' },
    duration: { type: 'number', minimum: 0 },
    method: { type: 'string', maxLength: 100 },
    url: text,
    ip: { type: 'string', maxLength: 100 },
    status: { type: 'integer', minimum: 0, maximum: 999 },
    parent: { type: 'string', pattern: '^[0-9a-f]{6}$' },
    replayOf: { type: 'string', pattern: '^[0-9a-f]{6}$' },
    route: {
      anyOf: [
        { type: 'null' },
        { type: 'object', required: ['name', 'pattern', 'params', 'methods'], properties: { name: text, pattern: text, params: { type: 'object' }, methods: { type: 'array', items: text } } }
      ]
    },
    exceptions: { type: 'array', items: { $ref: '#/$defs/exception' } },
    logs: {
      type: 'array',
      items: {
        type: 'object',
        required: ['time', 'level', 'channel', 'message', 'context'],
        properties: { time: text, level: { enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] }, channel: text, message: text, context: { type: 'object' } }
      }
    },
    logsLeftOut: { type: 'integer', minimum: 1 },
    events: {
      type: 'array',
      items: {
        type: 'object',
        required: ['stage', 'listener', 'pass', 'outcome', 'start', 'duration'],
        properties: { stage: text, listener: text, pass: text, outcome: text, start: { type: 'number' }, duration: { type: 'number' }, reason: text, changes }
      }
    },
    collectors: { type: 'object' }
  }
})

/** The first line of an export: what it is, so that no other file is taken for one. */
export function exportHeader (): object {
  return { hindsight: KIND, version: VERSION, time: new Date().toISOString() }
}

/** Any other line: one profile. */
export function exportLine (profile: Profile, pinned: boolean): object {
  return { profile, pinned }
}

/** Reads the first line; throws where it is not that of an export that this version understands. */
export function readHeader (line: string): void {
  const { hindsight, version } = parsed(line)
  if (hindsight !== KIND) throw new TransferError('This is not a file that "fastify-hindsight export" has written.')
  if (version !== VERSION) throw new TransferError(`This file has version ${String(version)} of the format; version ${VERSION} is understood.`)
}

/** Reads another line; throws with the place of what is wrong. */
export function readLine (line: string): Transferred {
  const { profile, pinned } = parsed(line)
  if (!isProfile(profile)) throw new TransferError(`The profile is not valid: ${why(isProfile.errors?.[0])}.`)
  // The pattern lets a 99th month pass.
  const time = Date.parse(profile.time)
  if (Number.isNaN(time) || new Date(time).toISOString() !== profile.time) throw new TransferError(`The profile is not valid: time "${profile.time}" is no moment.`)
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

function why (error: ErrorObject | undefined): string {
  return error === undefined ? 'unknown' : `${error.instancePath === '' ? 'it' : error.instancePath.slice(1).replaceAll('/', '.')} ${error.message ?? 'is wrong'}`
}
