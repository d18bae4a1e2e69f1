import ipaddr from 'ipaddr.js'

const ADDRESS = 16
const WORDS = [0, 4, 8, 12] as const

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
  const [text = '', bits] = wanted.split('/')
  const address = bytesOf(text)
  const isOld = ipaddr.IPv4.isValid(text)
  const length = bits === undefined ? 8 * ADDRESS : Number(bits) + (isOld ? 96 : 0)
  const [a = 0, b = 0, c = 0, d = 0] = WORDS.map((at) => maskOf(length - 8 * at))
  const [first = 0, second = 0, third = 0, last = 0] = [a, b, c, d].map((mask, i) => address.readInt32BE(4 * i) & mask)
  // The last word differs most, so that it is looked at first; this runs for a million addresses.
  return (column, at) => (column.readInt32BE(at + 12) & d) === last && (column.readInt32BE(at + 8) & c) === third &&
    (column.readInt32BE(at + 4) & b) === second && (column.readInt32BE(at) & a) === first
}

/** Strikes out those of the rows whose address does not fit. */
export function keepAddresses (column: Buffer, alive: Uint8Array, fits: AddressFilter): void {
  const start = 2 * alive.length
  const fitting = new Set<number>()
  for (let at = start, index = 0; at < column.length; at += ADDRESS, index++) if (fits(column, at)) fitting.add(index)
  if (fitting.size === 0) alive.fill(0)
  else for (let i = 0; i < alive.length; i++) if (alive[i] === 1 && !fitting.has(column.readUInt16LE(2 * i))) alive[i] = 0
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
