import { maskAssignments, type TextMask } from './assignments.js'
import { maskElements } from './elements.js'
import { MASKED } from './names.js'
import { maskShapes } from './shapes.js'
import { maskStatement } from './statement.js'
import { maskTable } from './table.js'
import { formDecoded } from './url.js'

interface ProseMask extends TextMask {
  mentions: (text: string) => boolean
}

/** Characters after those that are shown: a secret that ends within them is recognized. */
const MARGIN = 4_000

/** Masks a text, and returns at most `max` characters of the result, and how many are left out. */
export function cutMasked (
  mask: (text: string) => string, given: string, max: number
): { shown: string, rest: number } {
  if (given.length <= max + MARGIN) {
    const masked = mask(given)
    return { shown: masked.slice(0, max), rest: Math.max(0, masked.length - max) }
  }
  const masked = mask(given.slice(0, max + MARGIN))
  // At the end may be the beginning of a secret.
  const shown = masked.slice(0, Math.min(max, Math.max(0, masked.length - MARGIN)))
  return { shown, rest: given.length - shown.length }
}

// Codes of terminals for colors and styles, also escaped: `util.inspect` and loggers write them around values.
const COLOR = /(?:\x1b|\\{1,7}(?:u00|x)1b)\[[\d;]{0,20}m/gi
const ENCODED = /(?<![^\s"'<>=&?])[^\s"'<>=&?%]{0,256}%(?:25){0,3}[0-9a-f]{2}[^\s"'<>=&?]*/gi
const MAX_ENCODINGS = 4

/** Masks secrets in a text of any kind. Without secrets a text keeps the colors of terminals. */
export function maskProse (mask: ProseMask, text: string): string {
  const plain = text.replace(COLOR, '')
  const shown = maskPlain(mask, plain.replace(ENCODED, (all) => isSecretWhenDecoded(mask, all) ? MASKED : all))
  if (shown === plain) return text
  return shown
}

function isSecretWhenDecoded (mask: ProseMask, text: string): boolean {
  let encoded = text
  for (let i = 0; i < MAX_ENCODINGS; i++) {
    const decoded = formDecoded(encoded)
    if (decoded === encoded) return false
    if (maskPlain(mask, decoded) !== decoded) return true
    encoded = decoded
  }
  return false
}

function maskPlain (mask: ProseMask, text: string): string {
  let shown = maskStatement(mask, maskShapes(text))
  if (shown.includes('<')) shown = maskElements(mask.hides, shown)
  if (shown.includes('\n')) shown = maskTable(mask.hides, shown)
  return maskAssignments(mask, shown)
}
