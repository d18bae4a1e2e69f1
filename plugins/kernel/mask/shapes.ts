import { MASKED } from './parts.js'

// What issuers make easy to find: a prefix of their own in front of the random part.
const ISSUED = /(?<![A-Za-z0-9])(?:gh[opsur]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|npm_\w{20,}|[spr]k_(?:live|test)_\w{8,}|sk-[\w-]{20,}|xox[abeprs]-[\w-]{8,}|AKIA[0-9A-Z]{12,}|ASIA[0-9A-Z]{12,}|AIza[\w-]{20,}|ya29\.[\w-]{16,}|SG\.[\w-]{8,}\.[\w-]{8,}|hf_\w{20,}|dop_v1_\w{20,}|whsec_\w{8,}|\$argon2\w{1,2}\$[^\s"']+|\$2[aby]\$\d\d\$[./\w]{20,})/g
const PEM = /-----BEGIN ([A-Z ]{0,40}PRIVATE KEY)-----[^-]*(?:-----END \1-----)?/g
// JSON in base64url; also one that was cut off ahead of its signature.
const JWT = /(?<![\w-])eyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)*/g

const LEAST = 10

/** Hides what is a secret by its very shape, whatever it is called. */
export function shapes (text: string): string {
  // Most texts are short, and have none of these: to look is cheaper than to try.
  if (text.length < LEAST) return text
  const shown = (text.includes('eyJ') ? text.replace(JWT, MASKED) : text).replace(ISSUED, MASKED)
  return shown.includes('-----BEGIN') ? shown.replace(PEM, `-----BEGIN $1-----${MASKED}`) : shown
}
