import { LimitedMap } from '../lifecycle/limited-map.js'

const MAX_KNOWN = 1_000
const MAX_NAMES = 100
const MAX_NAME = 100
/** Longer texts hardly ever come back, except for the stacks of failures. */
const MAX_LENGTH = 300
/** Text that is longer still has no hash of its own in V8. */
const MAX_LONG = 16_000
const MAX_LONG_KNOWN = 50
const MAX_LONG_TOTAL = 400_000

/** What masks prose, remembered: stacks are long and dear to look through, and a service fails in the same places. */
export function rememberedProse (mask: (text: string) => string): (text: string) => string {
  const short = remembered(mask)
  const known = new LimitedMap<string>(MAX_LONG_KNOWN, MAX_LONG_TOTAL)
  return text => {
    if (text.length <= MAX_LENGTH) return short(text)
    if (text.length > MAX_LONG) return mask(text)
    const shown = known.get(text)
    if (shown !== undefined) return shown
    const copy = Buffer.from(text).toString()
    const masked = mask(copy)
    known.set(copy, masked === copy ? copy : masked)
    return masked
  }
}

/** What masks a text, remembered: most headers and lines are the same again and again. Bounded, whatever is sent. */
export function remembered (mask: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>()
  return text => {
    const shown = known.get(text)
    if (shown !== undefined) return shown
    if (text.length > MAX_LENGTH) return mask(text)
    if (known.size >= MAX_KNOWN) known.clear()
    // A copy: part of a text would keep the whole of it in memory.
    const copy = Buffer.from(text).toString()
    const masked = mask(copy)
    known.set(copy, masked)
    return masked
  }
}

/** The same for the values of headers, by their names. */
export function rememberedHeader (mask: (name: string, value: string) => string): (name: string, value: string) => string {
  const known = new Map<string, (value: string) => string>()
  return (name, value) => {
    // Tokens are never the same, and nothing to hide: to remember them would only drive out what comes again.
    const token = TELL_TOKENS.has(name) ? TOKEN.exec(value)?.index : undefined
    if (token === undefined) return header(name, value)
    return (token === 0 ? '' : header(name, value.slice(0, token))) + value.slice(token)
  }

  function header (name: string, value: string): string {
    let ofName = known.get(name)
    if (ofName === undefined) {
      if (name.length > MAX_NAME) return mask(name, value)
      if (known.size >= MAX_NAMES) known.clear()
      const copy = Buffer.from(name).toString()
      const plain = remembered(text => mask(copy, text))
      known.set(copy, ofName = copy.startsWith('content-security-policy') ? withoutNonces(plain) : plain)
    }
    return ofName(value)
  }
}

const TELL_TOKENS = new Set(['x-debug-token', 'x-debug-token-link'])
const TOKEN = /(?<![^/])[0-9a-f]{6}$/
const NONCE = /'nonce-[\w+/=-]{1,100}'/g
const NO_NONCE = "'nonce-'"

// A policy differs from the one before by its nonces only, which are on its page for everybody to read.
function withoutNonces (mask: (text: string) => string): (text: string) => string {
  return text => {
    if (!text.includes("'nonce-") || text.includes(NO_NONCE)) return mask(text)
    const nonces: string[] = []
    const shown = mask(text.replace(NONCE, nonce => {
      nonces.push(nonce)
      return NO_NONCE
    }))
    return shown.replaceAll(NO_NONCE, () => nonces.shift() ?? NO_NONCE)
  }
}
