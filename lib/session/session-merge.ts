type Fields = Record<string, unknown>

const before = new WeakMap<object, string>()

/** Remembers what a session had when it was read, so that what its request changes can be told. */
export function rememberSession (session: object): void {
  try {
    before.set(session, JSON.stringify(session))
  } catch {
    // A store that keeps what is no JSON has its sessions written as they are.
  }
}

/**
 * Takes into a session what others have stored in it since it was read, but for the fields that its own request has
 * changed: of two requests at once neither undoes what the other did elsewhere.
 */
export function takeOver (session: object, stored: object): void {
  const read = before.get(session)
  if (read === undefined) return
  const [was, own, theirs] = [JSON.parse(read) as Fields, session as Fields, stored as Fields]
  for (const key of new Set([...Object.keys(was), ...Object.keys(theirs)])) {
    if (key === 'cookie' || textOf(own[key]) !== textOf(was[key]) || textOf(theirs[key]) === textOf(was[key])) continue
    if (theirs[key] === undefined) delete own[key]
    else own[key] = theirs[key]
  }
}

function textOf (value: unknown): string | undefined {
  return JSON.stringify(value)
}
