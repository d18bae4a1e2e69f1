// What the logger puts ahead of a line: its time and its request differ, what follows is often the same.
const AHEAD = /^\{"level":\d+,"time":\d+,(?:"pid":\d+,"hostname":"[^"\\]*",)?(?:"reqId":"[^"\\]*",)?/

/** How many characters of a line pino has put ahead of what was said; 0 where it does not begin as it writes them. */
export function aheadOf (line: string): number {
  return AHEAD.exec(line)?.[0].length ?? 0
}
