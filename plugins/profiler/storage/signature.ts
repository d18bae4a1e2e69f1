/** Sets one bit of a signature: of many things at once, which of them may be there. */
export function setBit (signature: Buffer, bit: number): void {
  signature[bit >> 3] = (signature[bit >> 3] ?? 0) | (1 << (bit & 7))
}

/** Whether a signature, at its place in the buffer, has all of the bits. */
export function hasBits (buffer: Buffer, offset: number, bits: readonly number[]): boolean {
  return bits.every((bit) => ((buffer[offset + (bit >> 3)] ?? 0) & (1 << (bit & 7))) !== 0)
}
