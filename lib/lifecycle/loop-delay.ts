const RESOLUTION = 20
/** The timer stops when no request has begun for so long. */
const IDLE = 30_000
const KEPT = 256

interface Tick {
  at: number
  late: number
}

// One timer for the whole process, as there is one loop.
const ticks: Tick[] = []
let timer: NodeJS.Timeout | null = null
let due = 0
let wanted = 0

/** Begins to watch how late the event loop is, or goes on; a timer of 20 ms that keeps no process alive. */
export function watchLoop (now: number): void {
  wanted = now
  if (timer !== null) return
  due = now + RESOLUTION
  timer = setInterval(tick, RESOLUTION)
  timer.unref()
}

/** The longest that the event loop has kept a timer waiting since a moment of `performance.now()`, in milliseconds. */
export function loopDelay (since: number, now: number): number {
  // Where the loop is held up right now, the timer is still to come.
  let most = timer === null ? 0 : Math.max(0, now - due)
  for (let i = ticks.length - 1; i >= 0; i--) {
    const { at, late } = ticks[i] as Tick
    if (at < since) break
    if (late > most) most = late
  }
  return most
}

function tick (): void {
  const now = performance.now()
  const late = now - due
  // Only what is late is of interest, and a ring would cost more than this.
  if (late > 1) {
    ticks.push({ at: now, late })
    if (ticks.length > KEPT) ticks.splice(0, KEPT / 2)
  }
  due = now + RESOLUTION
  if (now - wanted < IDLE || timer === null) return
  clearInterval(timer)
  timer = null
}
