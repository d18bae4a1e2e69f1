import { ADDRESS_SIGNATURE_BYTES, addressSignatureOf } from './address-column.js'
import { hasBits } from './signature.js'
import { PAIR_SIGNATURE_BYTES, pairSignatureOf, signatureOf, SIGNATURE_BYTES } from './text-column.js'

/** What a search is told of a block before it is read. */
export interface BlockSpan {
  rows: number
  first: number
  last: number
}

interface Zoned {
  seqs: readonly number[]
  times: readonly number[]
  durations: readonly number[]
  statuses: readonly number[]
  addresses: readonly string[]
  url: Buffer
  exceptions: Buffer
}

const NUMBERS = 6
const STATUSES_AT = NUMBERS * 8
// Behind all else: blocks of an earlier version end ahead of it.
const TAIL_BYTES = ADDRESS_SIGNATURE_BYTES + PAIR_SIGNATURE_BYTES

/** What a zone says of its block's place; throws where it is damaged. */
export function spanOf (zone: Buffer): BlockSpan {
  const rows = zone.readDoubleLE(0)
  if (!Number.isInteger(rows) || rows < 0 || rows > 0xFFFF) throw new RangeError('A block has no sensible length')
  return { rows, first: zone.readDoubleLE(8), last: zone.readDoubleLE(16) }
}

/** When its first request arrived; requests of no known time do not count. */
export function earliest (zone: Buffer): number {
  return zone.readDoubleLE(24)
}

/** When its last request arrived. */
export function latest (zone: Buffer): number {
  return zone.readDoubleLE(32)
}

/** The duration of its longest request. */
export function longest (zone: Buffer): number {
  return zone.readDoubleLE(40)
}

/** What rules a whole block out. */
export function packZone ({ seqs, times, durations, statuses, addresses, url, exceptions }: Zoned): Buffer {
  const values = [seqs.length, seqs[0] ?? 0, seqs.at(-1) ?? 0, least(times), most(times), most(durations)]
  const distinct = [...new Set(statuses)]
  const own = Buffer.alloc(2 + 2 * distinct.length)
  let at = own.writeUInt16LE(distinct.length)
  for (const status of distinct) at = own.writeUInt16LE(status & 0xFFFF, at)
  const raised = exceptions.length > 4 ? signatureOf(exceptions) : Buffer.alloc(0)
  return Buffer.concat([numbers(values), own, signatureOf(url), raised, addressSignatureOf(addresses), pairSignatureOf(url)])
}

/** The statuses that occur. */
export function statusesOf (zone: Buffer): number[] {
  return Array.from({ length: zone.readUInt16LE(STATUSES_AT) }, (_, i) => zone.readUInt16LE(STATUSES_AT + 2 + 2 * i))
}

/** Whether one of the texts may have all of the bits of a needle. */
export function hasSignature (zone: Buffer, column: 'url' | 'exceptions', bits: readonly number[]): boolean {
  const url = urlAt(zone)
  if (column === 'url') return hasBits(zone, url, bits)
  const exceptions = url + SIGNATURE_BYTES
  return zone.length - exceptions >= SIGNATURE_BYTES && hasBits(zone, exceptions, bits)
}

/** Whether one of the addresses may have all of the bits of what is looked for. */
export function hasAddress (zone: Buffer, bits: readonly number[]): boolean {
  return !hasTail(zone) || hasBits(zone, zone.length - TAIL_BYTES, bits)
}

/** Whether one of the URLs may have all of the bits of a needle that is too short for its signature. */
export function hasPairs (zone: Buffer, bits: readonly number[]): boolean {
  return !hasTail(zone) || hasBits(zone, zone.length - PAIR_SIGNATURE_BYTES, bits)
}

function urlAt (zone: Buffer): number {
  return STATUSES_AT + 2 + 2 * zone.readUInt16LE(STATUSES_AT)
}

function hasTail (zone: Buffer): boolean {
  return (zone.length - urlAt(zone)) % SIGNATURE_BYTES === TAIL_BYTES
}

/** Numbers in a row as one value. */
export function numbers (values: readonly number[]): Buffer {
  const column = Buffer.allocUnsafe(8 * values.length)
  values.forEach((value, i) => column.writeDoubleLE(value, 8 * i))
  return column
}

function least (values: readonly number[]): number {
  return values.reduce((least, value) => value < least ? value : least, Infinity)
}

function most (values: readonly number[]): number {
  return values.reduce((most, value) => value > most ? value : most, -Infinity)
}
