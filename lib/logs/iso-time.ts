let lastTime = NaN
let last = ''

/** A time (ms since the epoch) in the form of ISO 8601. Many lines and requests are of the same millisecond. */
export function isoTime (time: number): string {
  if (time === lastTime) return last
  last = new Date(time).toISOString()
  lastTime = time
  return last
}
