/** How many milliseconds of CPU a function takes. */
function cpuTime (run: () => unknown): number {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/**
 * How much more CPU a function takes for a text of the double length: 2 if the work is linear, 4 if it is quadratic. The
 * least of several tries, as others may use the processor's caches; 0 for what takes next to nothing.
 */
export function growthOf (run: (text: string) => unknown, piece: string, length = 40_000): number {
  const [single, double] = [length, 2 * length].map((size) => piece.repeat(Math.ceil(size / piece.length)))
  let least = Infinity
  for (let i = 0; i < 8 && least > 3; i++) {
    const once = cpuTime(() => run(`${single}${i}!`))
    const twice = cpuTime(() => run(`${double}${i}!`))
    least = Math.min(least, twice < 40 ? 0 : twice / once)
  }
  return least
}
