import ipaddr from 'ipaddr.js'
import { setBit } from './signature.js'

const ADDRESS = 16
const WORDS = [0, 4, 8, 12] as const
const SIGNATURE_BITS = 4_096
// What a range is looked for by, in bits of 16 bytes: the whole bytes of an IPv4 address, and where networks of IPv6 usually end.
const IPV4_PREFIXES = [104, 112, 120, 128] as const
const IPV6_PREFIXES = [32, 48, 64, 128] as const

/** Whether the address at a place of a column may be the one that is looked for. */
export type AddressFilter = (column: Buffer, at: number) => boolean

/** Addresses as a value: for each its number among those that differ, and these as 16 bytes each, IPv4 as in IPv6; what is no address is all zero. */
export function packAddresses (addresses: readonly string[]): Buffer {
  const distinct = new Map<string, number>()
  for (const address of addresses) if (!distinct.has(address)) distinct.set(address, distinct.size)
  const column = Buffer.alloc(2 * addresses.length + ADDRESS * distinct.size)
  addresses.forEach((address, i) => column.writeUInt16LE(distinct.get(address) ?? 0, 2 * i))
  for (const [address, index] of distinct) bytesOf(address).copy(column, 2 * addresses.length + ADDRESS * index)
  return column
}

/** For an address or a range, checked already. */
export function addressFilter (wanted: string): AddressFilter {
  const { address, length } = rangeOf(wanted)
  const [a = 0, b = 0, c = 0, d = 0] = WORDS.map((at) => maskOf(length - 8 * at))
  const [first = 0, second = 0, third = 0, last = 0] = [a, b, c, d].map((mask, i) => address.readInt32BE(4 * i) & mask)
  // The last word differs most, so that it is looked at first; this runs for a million addresses.
  return (column, at) => (column.readInt32BE(at + 12) & d) === last && (column.readInt32BE(at + 8) & c) === third &&
    (column.readInt32BE(at + 4) & b) === second && (column.readInt32BE(at) & a) === first
}

export const ADDRESS_SIGNATURE_BYTES = SIGNATURE_BITS / 8

/** Which addresses occur, and which networks they are of, as bits: where one that is looked for misses one of its own, it is not there. */
export function addressSignatureOf (addresses: readonly string[]): Buffer {
  const signature = Buffer.alloc(ADDRESS_SIGNATURE_BYTES)
  for (const address of new Set(addresses)) {
    const bytes = bytesOf(address)
    for (const length of isIPv4(bytes) ? IPV4_PREFIXES : IPV6_PREFIXES) for (const bit of prefixBits(bytes, length)) setBit(signature, bit)
  }
  return signature
}

/** The bits that an address must set which is the one, or of the range, that is looked for; none where the range is wider than what is known of networks. */
export function addressBitsOf (wanted: string): number[] {
  const { address, length } = rangeOf(wanted)
  const prefix = (isIPv4(address) ? IPV4_PREFIXES : IPV6_PREFIXES).findLast((known) => known <= length)
  return prefix === undefined ? [] : prefixBits(address, prefix)
}

/** Strikes out those of the rows whose address does not fit. */
export function keepAddresses (column: Buffer, alive: Uint8Array, fits: AddressFilter): void {
  const start = 2 * alive.length
  const fitting = new Set<number>()
  for (let at = start, index = 0; at < column.length; at += ADDRESS, index++) if (fits(column, at)) fitting.add(index)
  if (fitting.size === 0) alive.fill(0)
  else for (let i = 0; i < alive.length; i++) if (alive[i] === 1 && !fitting.has(column.readUInt16LE(2 * i))) alive[i] = 0
}

// An address is a range of one.
function rangeOf (wanted: string): { address: Buffer, length: number } {
  const [text = '', bits] = wanted.split('/')
  return { address: bytesOf(text), length: bits === undefined ? 8 * ADDRESS : Number(bits) + (ipaddr.IPv4.isValid(text) ? 96 : 0) }
}

function isIPv4 (bytes: Buffer): boolean {
  return bytes.readUInt32BE(8) === 0xFFFF && bytes.readUInt32BE(4) === 0 && bytes.readUInt32BE(0) === 0
}

function prefixBits (bytes: Buffer, length: number): [number, number] {
  let hash = length
  for (let at = 0; at < length / 8; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193)
  hash = Math.imul(hash, 0x9E3779B1)
  return [hash >>> 20, (hash >>> 8) & (SIGNATURE_BITS - 1)]
}

function maskOf (bits: number): number {
  if (bits <= 0) return 0
  return bits >= 32 ? -1 : -1 << (32 - bits)
}

function bytesOf (address: string): Buffer {
  const bytes = Buffer.alloc(ADDRESS)
  if (!ipaddr.isValid(address)) return bytes
  const parsed = ipaddr.process(address)
  const parts = parsed.toByteArray()
  if (parts.length === 4) bytes.writeUInt16BE(0xFFFF, 10)
  bytes.set(parts, ADDRESS - parts.length)
  return bytes
}
