// Each copy of Fastify has symbols of its own, and encapsulated instances inherit from those around them.
function symbolOf (holder: object, description: string): symbol | undefined {
  for (let one: object | null = holder; one !== null; one = Object.getPrototypeOf(one) as object | null) {
    const found = Object.getOwnPropertySymbols(one).find((symbol) => symbol.description === description)
    if (found !== undefined) return found
  }
  return undefined
}

/** What Fastify keeps under a symbol of that name; undefined where another Fastify keeps it elsewhere. */
export function keptBy<T> (holder: object, description: string): T | undefined {
  const symbol = symbolOf(holder, description)
  return symbol === undefined ? undefined : (holder as Record<symbol, T | undefined>)[symbol]
}

/** Has something else kept there, where it is kept at all. */
export function keep (holder: object, description: string, value: unknown): void {
  const symbol = symbolOf(holder, description)
  if (symbol !== undefined) Object.assign(holder, { [symbol]: value })
}
