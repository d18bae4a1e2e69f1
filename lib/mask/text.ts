import { assignmentMask } from './assignments.js'
import { maskedCommands, maskedStatements } from './commands.js'
import { markupMask } from './markup.js'
import { MASKED, percentDecoded, type MaskParts } from './parts.js'
import { shapes } from './shapes.js'
import { userInformation } from './url.js'

const MAX_NESTED = 4
/** Characters of a text that are masked together: for much more, an expression exceeds the stack. */
const MAX_TOGETHER = 1_000_000
// Codes of terminals for colors and styles, also escaped: `util.inspect` and loggers write them around values.
const COLOR = /(?:\x1b|\\{1,7}(?:u00|x)1b)\[[\d;]{0,20}m/gi
// Too short for any secret that is found by its shape.
const SHORT_WORD = /^\w{0,12}$/
// Every expression starts at a literal or after a look-behind and is bounded where it may fail: hostile text costs
// linear time.
const BEARER = /\b(Bearer)\s+(?!(?:realm|scope|error|charset)=|(?:tokens?|scheme|auth\w*)(?![\w.~+/=-]))[\w.~+/=-]+/gi
const BASIC = /\b(Basic)\s+([A-Za-z0-9+/]{4,}={0,2})/gi
const PARAMETER = /(?<=[?&])[^=&\s#?"<>]{1,256}=[^&\s#"<>]*/g
// A body of a form: two pairs at least, whose values are percent-encoded.
const FORM = /(?<![^\s"'`(])[\w.[\]%~-]{1,128}=[\w.~%+*-]*(?:&[\w.[\]%~-]{1,128}=[\w.~%+*@/=-]*)+/g
// A percent-encoded text that holds a quote, a colon, an equals sign or a brace.
const ENCODED = /(?<![\w%.~+-])(?=[\w.~+-]{0,128}%(?:2[27]|3[AD]|7B))(?:[\w.~!*'+-]|%[0-9A-F]{2})+/gi

/** Returns what masks prose that may hold credentials: connection strings, bearer tokens, `password=…`. */
export function textMask (parts: MaskParts): MaskParts['text'] {
  const markup = markupMask(parts)
  const assignments = assignmentMask(parts)

  function text (text: string, nested = 0): string {
    if (parts.idle) return text
    if (SHORT_WORD.test(text)) return parts.redact(text)
    if (text.length > MAX_TOGETHER) return piecesOf(text).map((piece) => part(piece, nested)).join('')
    return part(text, nested)
  }

  // Without secrets a text keeps its colors.
  function part (text: string, nested: number): string {
    const plain = text.includes('[') ? text.replace(COLOR, '') : text
    const shown = uncolored(plain, nested)
    return shown === plain ? text : shown
  }

  function uncolored (text: string, nested: number): string {
    let shown = shapes(userInformation(text))
      .replace(BEARER, `$1 ${MASKED}`)
      .replace(BASIC, (all, scheme, base64) => isBasicCredential(base64) ? `${scheme} ${MASKED}` : all)
    if (shown.includes('=')) {
      shown = shown.replace(PARAMETER, (all) => parts.parameters(all, nested))
        .replace(FORM, (all) => parts.parameters(all, nested))
    }
    if (shown.includes('%') && nested < MAX_NESTED) shown = shown.replace(ENCODED, (all) => encoded(all, nested))
    return parts.redact(assignments(markup(maskedStatements(maskedCommands(shown), parts.hides))))
  }

  function encoded (all: string, nested: number): string {
    const plain = percentDecoded(all)
    if (plain === null) return all
    const shown = text(plain, nested + 1)
    return shown === plain ? all : encodeURIComponent(shown)
  }

  return text
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

function isBasicCredential (base64: string): boolean {
  return /^[^\p{Cc}]*:[^\p{Cc}]*$/u.test(Buffer.from(base64, 'base64').toString('utf8'))
}
