import { parse } from '@lukeed/ms'

/** A span of time: whole seconds, or words such as `10 minutes`, `1 hour`, `2d` (as @lukeed/ms reads them). */
export type Duration = number | string

/** The whole seconds of a duration; null where it is invalid or negative. */
export function secondsOf (duration: unknown): number | null {
  const seconds = typeof duration === 'string' ? Math.floor((parse(duration) ?? NaN) / 1000) : duration
  return typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds >= 0 ? seconds : null
}
