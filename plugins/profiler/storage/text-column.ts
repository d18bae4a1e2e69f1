import { setBit } from './signature.js'

const BITS = 16_384
const PAIR_BITS = 8_192

/** Texts in a row as one value: how many, where each ends, and their bytes. */
export function packTexts (texts: readonly string[]): Buffer {
  const text = Buffer.from(texts.join('\n'))
  const column = Buffer.allocUnsafeSlow(4 + 4 * texts.length + text.length)
  let at = column.writeUInt32LE(texts.length)
  let end = 0
  const ascii = text.length === texts.reduce((sum, one) => sum + one.length + 1, -1)
  for (const one of texts) {
    end += (ascii ? one.length : Buffer.byteLength(one)) + 1
    at = column.writeUInt32LE(end, at)
  }
  text.copy(column, at)
  return column
}

/** One of them. */
export function textAt (column: Buffer, index: number): string {
  const start = bytesStart(column)
  const from = index === 0 ? 0 : column.readUInt32LE(4 * index)
  return column.toString('utf8', start + from, start + column.readUInt32LE(4 + 4 * index) - 1)
}

/** Calls `found` with the number of each text that may contain the bytes: a needle that spans two counts for the first. */
export function findTexts (column: Buffer, needle: Buffer, found: (index: number) => void): void {
  const start = bytesStart(column)
  const count = column.readUInt32LE(0)
  let index = 0
  for (let at = column.indexOf(needle, start); at !== -1; at = column.indexOf(needle, at)) {
    while (index < count && start + column.readUInt32LE(4 + 4 * index) <= at) index++
    if (index >= count) return
    found(index)
    const next = start + column.readUInt32LE(4 + 4 * index++)
    // Behind the last text; or, where the column is damaged, no way on.
    if (next <= at || next >= column.length) return
    at = next
  }
}

/** Which groups of three bytes occur in a column of texts, as bits: where one of a needle is missing, no text contains it. */
export function signatureOf (column: Buffer): Buffer {
  const bits = Buffer.alloc(BITS / 8)
  for (let at = bytesStart(column) + 2; at < column.length; at++) setBit(bits, hashAt(column, at))
  return bits
}

/** The bits that a text must set which contains the needle. */
export function bitsOf (needle: Buffer): number[] {
  const bits = new Set<number>()
  for (let at = 2; at < needle.length; at++) bits.add(hashAt(needle, at))
  return [...bits]
}

/** Which bytes, and which groups of two, occur in a column of texts: for needles that have no group of three. */
export function pairSignatureOf (column: Buffer): Buffer {
  const bits = Buffer.alloc(PAIR_SIGNATURE_BYTES)
  const start = bytesStart(column)
  for (let at = start; at < column.length; at++) {
    setBit(bits, pairHash(0, column[at] ?? 0))
    if (at > start) setBit(bits, pairHash((column[at - 1] ?? 0) + 1, column[at] ?? 0))
  }
  return bits
}

/** The bits that a text must set which contains a needle of one byte or two; of a longer one none. */
export function pairBitsOf (needle: Buffer): number[] {
  if (needle.length > 2) return []
  const [first, second] = needle
  if (first === undefined) return []
  return [pairHash(0, first), ...second === undefined ? [] : [pairHash(0, second), pairHash(first + 1, second)]]
}

export const SIGNATURE_BYTES = BITS / 8
export const PAIR_SIGNATURE_BYTES = PAIR_BITS / 8

function hashAt (bytes: Buffer, at: number): number {
  const key = ((bytes[at - 2] ?? 0) << 16) | ((bytes[at - 1] ?? 0) << 8) | (bytes[at] ?? 0)
  return Math.imul(key, 0x9E3779B1) >>> 18
}

function pairHash (first: number, second: number): number {
  return Math.imul((first << 8) | second, 0x9E3779B1) >>> 19
}

function bytesStart (column: Buffer): number {
  return 4 + 4 * column.readUInt32LE(0)
}
