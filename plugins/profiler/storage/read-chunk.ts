import { eventOf, type Profile } from '../profile.js'
import { HEAD_BYTES, MAX_TIME_BYTES, NO_WAY, type Changed, type Common, type Event, type Way } from './chunk-format.js'
import { restore } from './chunk-parts.js'

/** Reads one profile of a chunk; throws where there is none, or it is damaged. */
export function readProfile (chunk: Buffer, slot: number): Profile {
  const length = chunk.readUInt32LE(chunk.length - 8)
  if (slot >= length) throw new RangeError('A chunk has no such profile')
  const table = chunk.length - 8 - 4 * length
  const end = chunk.readUInt32LE(table + 4 * slot)
  const start = slot === 0 ? 0 : chunk.readUInt32LE(table + 4 * (slot - 1))
  const { signatures, ways, shapes, parts } = JSON.parse(chunk.toString('utf8', table - chunk.readUInt32LE(chunk.length - 4), table)) as Common
  const firstPart = length === 0 ? 0 : chunk.readUInt32LE(table + 4 * (length - 1))
  const partOf = (number: number): unknown => {
    const to = parts[number]
    if (to === undefined) throw new RangeError('A chunk has no such part')
    return JSON.parse(chunk.toString('utf8', firstPart + (parts[number - 1] ?? 0), firstPart + to))
  }
  const shape = shapes[chunk.readUInt32LE(start)]
  if (shape === undefined) throw new RangeError('A chunk has no such shape')
  const wayNumber = chunk.readUInt32LE(start + 4)
  const way = wayNumber === NO_WAY ? null : ways[wayNumber]
  if (way === undefined) throw new RangeError('A chunk has no such way')
  const { starts, durations, position } = timesOf(chunk, start + HEAD_BYTES, way?.recorded ?? 0)
  const leaves = JSON.parse(chunk.toString('utf8', position, end)) as unknown[]
  const profile = restore(shape, leaves, partOf) as unknown as Omit<Profile, 'events'> & { events: Changed | Event[] }
  return Object.assign(profile, { events: way === null ? profile.events as Event[] : told(way, signatures, starts, durations, changesOf(profile.events as Changed, partOf)) })
}

function timesOf (chunk: Buffer, from: number, recorded: number): { starts: number[], durations: number[], position: number } {
  const starts: number[] = []
  const durations: number[] = []
  let position = from
  const time = (): number => {
    let sum = 0
    for (let digit = 0; digit < MAX_TIME_BYTES; digit++) {
      const byte = chunk.readUInt8(position++)
      sum += (byte & 127) * 128 ** digit
      if (byte < 128) return sum
    }
    throw new RangeError('A time has no end')
  }
  for (let i = 0; i < recorded; i++) {
    starts.push(time())
    durations.push(time())
  }
  return { starts, durations, position }
}

function changesOf (changed: Changed, partOf: (number: number) => unknown): Array<Event['changes']> {
  const changes: Array<Event['changes']> = []
  for (let i = 0; i < changed.length; i += 2) {
    const change = changed[i + 1]
    changes[changed[i] as number] = typeof change === 'number' ? partOf(change) as Event['changes'] : change
  }
  return changes
}

function told ({ signatures: numbers, sources }: Way, signatures: Common['signatures'], starts: number[], durations: number[], changes: Array<Event['changes']>): Event[] {
  return numbers.map((number, i) => {
    const signature = signatures[number]
    if (signature === undefined) throw new RangeError('An event has no signature')
    return eventOf(signature, sources[i] ?? -1, starts, durations, changes)
  })
}
