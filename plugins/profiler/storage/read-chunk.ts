import type { Profile } from '../profile.js'
import { CHANGED, EVENT_BYTES, HEAD_BYTES, RAW, type Common, type Event, type Extras } from './chunk-format.js'
import { restore } from './chunk-parts.js'

/** Reads one profile of a chunk; throws where there is none, or it is damaged. */
export function readProfile (chunk: Buffer, slot: number): Profile {
  const length = chunk.readUInt32LE(chunk.length - 8)
  if (slot >= length) throw new RangeError('A chunk has no such profile')
  const table = chunk.length - 8 - 4 * length
  const end = chunk.readUInt32LE(table + 4 * slot)
  const start = slot === 0 ? 0 : chunk.readUInt32LE(table + 4 * (slot - 1))
  const { signatures, layouts, parts } = JSON.parse(chunk.toString('utf8', table - chunk.readUInt32LE(chunk.length - 4), table)) as Common
  const text = start + HEAD_BYTES + EVENT_BYTES * chunk.readUInt32LE(start)
  const packed = JSON.parse(chunk.toString('utf8', text, end)) as Omit<Profile, 'events'> & { events: Extras }
  const firstPart = length === 0 ? 0 : chunk.readUInt32LE(table + 4 * (length - 1))
  const partOf = (number: number): unknown => {
    const to = parts[number]
    if (to === undefined) throw new RangeError('A chunk has no such part')
    return JSON.parse(chunk.toString('utf8', firstPart + (parts[number - 1] ?? 0), firstPart + to))
  }
  const layout = layouts[chunk.readUInt32LE(start + 4)]
  if (layout === undefined) throw new RangeError('A chunk has no such layout')
  restore(packed as unknown as Record<string, unknown>, layout, partOf)
  const changes = packed.events.map((extra) => typeof extra === 'number' ? partOf(extra) as Event['changes'] : extra)
  return Object.assign(packed, { events: unpack(chunk.subarray(start + HEAD_BYTES, text), changes, signatures) })
}

function unpack (numbers: Buffer, extras: ReadonlyArray<Event['changes'] | Event>, signatures: Common['signatures']): Event[] {
  const events: Event[] = []
  let extra = 0
  for (let at = 0; at < numbers.length; at += EVENT_BYTES) {
    const byte = numbers.readUInt8(at)
    if (byte === RAW) {
      events.push(extras[extra++] as Event)
      continue
    }
    const signature = signatures[byte & (CHANGED - 1)]
    if (signature === undefined) throw new RangeError('An event has no signature')
    const { reason, ...known } = signature
    events.push({
      ...known,
      start: numbers.readUInt32LE(at + 1) / 1_000,
      duration: numbers.readUIntLE(at + 5, 3) / 1_000,
      ...(reason !== null && { reason }),
      ...(byte >= CHANGED && { changes: extras[extra++] as NonNullable<Event['changes']> })
    })
  }
  return events
}
