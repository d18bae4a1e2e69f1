import { QUOTE } from './assignments.js'
import { isHarmless, MASKED } from './names.js'
import { maskShapes, PRIVATE_KEY } from './shapes.js'

// A line of an excerpt may be cut.
const LITERAL = String.raw`"(?:[^"\\]|\\.)+(?:"|(?<=…)$)|'(?:[^'\\]|\\.)+(?:'|(?<=…)$)|` +
  '`(?:[^`$\\\\]|\\\\.|\\$(?!\\{))+(?:`|$)|' + String.raw`\d[\d_]{3,}(?![\w.])`
// `apiKey: string = '…'`, `'x-api-key': '…'`, `password = '…'`. A template may end on another line.
const ASSIGNED = new RegExp(String.raw`(?<![\w$-])([\p{L}\p{N}_$-]{1,128})(?:${QUOTE})?\]?[!?]?\s{0,20}` +
  String.raw`(?::\s{0,20}(?:[\w<>[\]|. ]{1,60}=(?!=)\s{0,20})?|=(?![=>])\s{0,20})(${LITERAL})`, 'gu')
const PARTS = /^(["'`]?)(.*?)(\1)?$/su

/**
 * Masks credentials with a known shape in lines of source code, and literals that are assigned to a secret name. No
 * other mask of source is needed: an excerpt is shown to those who have the file.
 */
export function maskSource (hides: (name: string) => boolean, lines: readonly string[]): string[] {
  const text = lines.join('\n').replace(PRIVATE_KEY, (all) => all.replace(/[^\n]+/g, MASKED))
  return text.split('\n').map((line) => maskShapes(line).replace(ASSIGNED, (all, name: string, literal: string) => {
    const [, opening = '', content = '', closing = ''] = PARTS.exec(literal) ?? []
    if (!hides(name) || isHarmless(name, content)) return all
    return all.slice(0, all.length - literal.length) + opening + MASKED + closing
  }))
}
