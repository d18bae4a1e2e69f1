/** A name that hides its value: a string is the whole name in any case, an expression may match a part of it. */
export type MaskPattern = string | RegExp

/** The names whose values never reach a page or a store. */
export const DEFAULT_MASK_PATTERNS: readonly MaskPattern[] = [
  'authorization', 'proxy-authorization', 'cookie', 'cookies', 'set-cookie', 'x-api-key', 'x-auth-token', 'x-csrf-token',
  'auth', 'pass', 'sig', 'sid', '_hash', 'otp', 'jwt',
  /pass(?:wor[dt]|wd|phrase|code|key)|[-_.]pass$|Pass$|_PASS_|pwd/i,
  /secret|token|credential|authorization|session|[cx]srf|signature|jwt/i,
  /(?:api|access|account|private|encryption|signing|master)[-_. ]?key/i
]

// These say where a profile is, not how to get in.
const NEVER_MASKED = new Set(['x-debug-token', 'x-debug-token-link'])
// Whether credentials may be sent is no secret.
const NEVER_BEGINS = 'access-control-'
const MAX_KNOWN = 2_000

/** Makes the judge of names; the same names come again and again, so it remembers. */
export function namesThatHide (patterns: readonly MaskPattern[]): (name: string) => boolean {
  const exact = new Set(patterns.filter(pattern => typeof pattern === 'string').map(name => name.toLowerCase()))
  const expressions = patterns.filter(pattern => pattern instanceof RegExp)
    // A sticky or global expression would remember where it stopped.
    .map(({ source, flags }) => new RegExp(source, flags.replace(/[gy]/g, '')))
  const known = new Map<string, boolean>()
  return name => {
    const remembered = known.get(name)
    if (remembered !== undefined) return remembered
    const lower = name.toLowerCase()
    const hides = !NEVER_MASKED.has(lower) && !lower.startsWith(NEVER_BEGINS) && (exact.has(lower) || expressions.some(expression => expression.test(name)))
    if (known.size >= MAX_KNOWN) known.clear()
    // A copy: part of a text would keep the whole of it in memory.
    if (name.length <= 100) known.set(Buffer.from(name).toString(), hides)
    return hides
  }
}
