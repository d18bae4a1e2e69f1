import type { Mask } from '../../mask/mask.js'
import { MASKED } from '../../mask/mask.js'

// Beside the names that are masked everywhere: so short ones hide too much elsewhere.
const SECRET_NAME = /(?:^|_)(?:KEYS?|SALT|SEED|CERT|WEBHOOK)(?:_|$)/i
/** What looks as if it had been drawn by chance: long, of one piece, letters and digits mixed. */
const RANDOM = /^(?=.*\d)(?=.*[a-z])[\w+/=.~-]{24,}$/i
const PLACE = /^(?:\.{0,2}\/|[A-Za-z]:\\)|[:/]\S*\/|\.(?:[cm]?[jt]s|json|sock|pem|crt|sh)$|^\d+(?:\.\d+)+/

/** The environment of the process: values of secret names, and those that look like secrets, are hidden. */
export function shownEnvironment (environment: Readonly<Record<string, string | undefined>>, mask: Mask): Record<string, string> {
  return Object.fromEntries(Object.entries(environment)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .sort(([a], [b]) => a < b ? -1 : 1)
    .map(([name, value]) => [mask.text(name), shownValue(name, value, mask)]))
}

function shownValue (name: string, value: string, mask: Mask): string {
  if (value === '') return ''
  if (mask.hides(name) || SECRET_NAME.test(name)) return MASKED
  if (RANDOM.test(value) && !PLACE.test(value)) return MASKED
  return mask.text(value.slice(0, 2_000))
}
