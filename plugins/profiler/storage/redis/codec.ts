import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import { wholeProfile, type Profile } from '../../profile.js'
import { UnreadableProfileError } from './errors.js'

/** What shares a fate: successes, failures; as capitals those that are pinned. */
export type Lane = 's' | 'f' | 'S' | 'F'

export const LANES: readonly Lane[] = ['s', 'f', 'S', 'F']

/** Whether it is one of those that stay. */
export function isPinned (lane: Lane): boolean {
  return lane === 'S' || lane === 'F'
}

/** What stands ahead of a profile's bytes: its lane, and its number in 16 digits. */
export interface Head {
  lane: Lane
  order: number
}

export const HEAD_LENGTH = 17
const PLAIN = 'j'
const DEFLATED = 'z'
/** Below this, compressing costs more time than the bytes are worth: 9 kB would take seven times as long to put. */
const COMPRESSED_FROM = 32 * 1024
/** What inflates to more was not written by us. */
const MAX_INFLATED = 256 * 1024 * 1024

const deflated = promisify(deflateRaw)
const inflated = promisify(inflateRaw)

/** A profile as it is stored, of its JSON, without its head. */
export function encodeProfile (json: string): Buffer | Promise<Buffer> {
  return json.length < COMPRESSED_FROM ? Buffer.from(PLAIN + json) : compressed(json)
}

async function compressed (json: string): Promise<Buffer> {
  return Buffer.concat([Buffer.from(DEFLATED), await deflated(json, { level: 1 })])
}

/** The profile of a stored value. */
export async function decodeProfile (value: Buffer, key: string): Promise<Profile> {
  try {
    const body = value.subarray(HEAD_LENGTH + 1)
    const json = value[HEAD_LENGTH] === DEFLATED.charCodeAt(0) ? await inflated(body, { maxOutputLength: MAX_INFLATED }) : body
    return wholeProfile(JSON.parse(json.toString()) as Profile)
  } catch (cause) {
    throw Object.assign(new UnreadableProfileError(key), { cause })
  }
}

/** The head of a stored value; null where there is none. */
export function headOf (value: Buffer): Head | null {
  const [, lane, order] = /^([sfSF])(\d{16})$/.exec(value.toString('latin1', 0, HEAD_LENGTH)) ?? []
  return lane === undefined ? null : { lane: lane as Lane, order: Number(order) }
}
