let lastTime = NaN
let last = ''

/** A moment (ms since the epoch) as ISO 8601 has it: many lines, and requests, are of the same millisecond. */
export function isoTime (time: number): string {
  if (time === lastTime) return last
  last = new Date(time).toISOString()
  lastTime = time
  return last
}
