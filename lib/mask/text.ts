import { maskAssignments } from './assignments.js'
import { maskCommands, maskRows } from './commands.js'
import { MAX_DEPTH, maskParameters } from './http.js'
import { maskMarkup } from './markup.js'
import type { MaskParts } from './mask.js'
import { percentDecoded } from './names.js'
import { maskShapes } from './shapes.js'

/** Characters of a text that are masked together: for much more, an expression exceeds the stack. */
const MAX_TOGETHER = 1_000_000
/** A word that is too short for a secret that is recognized by its shape. */
const SHORT_WORD = /^\w{0,12}$/
// Codes of terminals for colors and styles, also escaped: `util.inspect` and loggers write them around values.
const COLOR = /(?:\x1b|\\{1,7}(?:u00|x)1b)\[[\d;]{0,20}m/gi
const PARAMETER = /(?<=[?&])[^=&\s#?"<>]{1,256}=[^&\s#"<>]*/g
// The body of a form: at least two pairs, whose values are percent-encoded.
const FORM = /(?<![^\s"'`(])[\w.[\]%~-]{1,128}=[\w.~%+*-]*(?:&[\w.[\]%~-]{1,128}=[\w.~%+*@/=-]*)+/g
// A percent-encoded text that holds a quote, a colon, an equals sign or a brace.
const ENCODED = /(?<![\w%.~+-])(?=[\w.~+-]{0,128}%(?:2[27]|3[AD]|7B))(?:[\w.~!*'+-]|%[0-9A-F]{2})+/gi

/** Masks prose that may hold credentials; `depth`: the number of encodings that the text was in. */
export function maskText (mask: MaskParts, text: string, depth: number): string {
  if (SHORT_WORD.test(text)) return mask.redact(text)
  return piecesOf(text).map((piece) => {
    const plain = piece.replace(COLOR, '')
    const shown = maskPiece(mask, plain, depth)
    // Without secrets a text keeps its colors.
    return shown === plain ? piece : shown
  }).join('')
}

function maskPiece (mask: MaskParts, text: string, depth: number): string {
  let shown = maskShapes(text)
  if (shown.includes('=')) {
    shown = shown.replace(PARAMETER, (all) => maskParameters(mask, all, depth))
      .replace(FORM, (all) => maskParameters(mask, all, depth))
  }
  if (shown.includes('%') && depth < MAX_DEPTH) {
    shown = shown.replace(ENCODED, (all) => {
      const plain = percentDecoded(all)
      const inner = plain === null ? null : mask.nestedText(plain, depth + 1)
      return inner === null || inner === plain ? all : encodeURIComponent(inner)
    })
  }
  shown = maskRows(mask.hides, maskCommands(shown))
  return mask.redact(maskAssignments(mask, maskMarkup(mask.hides, shown)))
}

/** A text in pieces that end with a line where possible. */
function piecesOf (text: string): string[] {
  const pieces: string[] = []
  for (let start = 0; start < text.length;) {
    const line = text.lastIndexOf('\n', start + MAX_TOGETHER - 1) + 1
    const end = line > start && start + MAX_TOGETHER < text.length ? line : start + MAX_TOGETHER
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}
