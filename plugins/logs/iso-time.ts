let last = NaN
let text = ''

/** A moment (ms since the epoch) as ISO 8601 has it; what comes in the same millisecond is written once. */
export function isoTime (time: number): string {
  if (time !== last) {
    text = new Date(time).toISOString()
    last = time
  }
  return text
}
