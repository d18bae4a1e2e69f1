/** A name that hides its value: a string is the whole name in any case, an expression may match a part of it. */
export type MaskPattern = string | RegExp

const SHORT = ['auth', 'pass', 'sig', 'sid', 'otp', 'jwt', 'pin', 'bearer']
const capitalised = SHORT.map(word => word.charAt(0).toUpperCase() + word.slice(1))
// Short names are parts of other words (`author`, `compass`): they count only as words of their own, `user_otp`, `userOtp`, `userOTPCode`.
const WORDS: readonly RegExp[] = [
  new RegExp(`(?<![a-z])(?:${SHORT.join('|')})(?![a-z])`, 'i'),
  new RegExp(`(?:${capitalised.join('|')})(?![a-z])|(?<![A-Za-z])(?:${SHORT.join('|')})(?=[A-Z])`),
  new RegExp(`(?<![A-Z])(?:${SHORT.join('|').toUpperCase()})(?=[A-Z][a-z]|[^A-Za-z]|$)`)
]

/** The names whose values never reach a page or a store. */
export const DEFAULT_MASK_PATTERNS: readonly MaskPattern[] = [
  'authorization', 'proxy-authorization', 'cookie', 'cookies', 'set-cookie', 'x-api-key', 'x-auth-token', 'x-csrf-token',
  '_hash', 'x-hindsight-profile', '_profile',
  ...WORDS,
  /pass(?:wor[dt]|wd|phrase|code|key)|(?<!com|by|tres|sur|over|under)pass$|pwd/i,
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

  function isSecret (name: string): boolean {
    return exact.has(name.toLowerCase()) || expressions.some(expression => expression.test(name))
  }

  function judge (name: string): boolean {
    const lower = name.toLowerCase()
    if (NEVER_MASKED.has(lower) || lower.startsWith(NEVER_BEGINS)) return false
    if (isSecret(name)) return true
    const plain = name.includes('%') ? asciiDecoded(asciiDecoded(name)) : name
    if (plain !== name && isSecret(plain)) return true
    // `user[pass]` is how forms and queries write what is within something else.
    return /[[\]]/.test(plain) && plain.split(/[[\]]/).some(segment => segment !== '' && isSecret(segment.trim()))
  }

  return name => {
    const remembered = known.get(name)
    if (remembered !== undefined) return remembered
    const hides = judge(name)
    if (known.size >= MAX_KNOWN) known.clear()
    // A copy: part of a text would keep the whole of it in memory.
    if (name.length <= 100) known.set(Buffer.from(name).toString(), hides)
    return hides
  }
}

/** Percent-decodes no more than ASCII, so that what else is in a name cannot make it fail. */
function asciiDecoded (name: string): string {
  return name.replace(/%([2-7][0-9a-f])/gi, (_, octet: string) => String.fromCharCode(parseInt(octet, 16)))
}
