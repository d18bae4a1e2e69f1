import { once } from 'node:events'
import { styleText } from 'node:util'
import { visibleJson, visibleLine } from '../view/text.js'

export type Style = Parameters<typeof styleText>[0]

export interface Output extends NodeJS.WritableStream {
  isTTY?: boolean
  columns?: number
  hasColors?: () => boolean
}

export type Formatter = Pick<Terminal, 'columns' | 'style'>

/** Writes lines or JSON to a stream. Control characters in text of requests are made visible. */
export class Terminal {
  /** The width of a line; infinite when the output is not a terminal. */
  readonly columns: number
  /** The text with visible control characters, and with colors where the output has them. */
  readonly style: (style: Style, text: string) => string
  readonly #out: Output

  constructor (out: Output) {
    const isTerminal = out.isTTY === true
    // `hasColors` reads NO_COLOR, FORCE_COLOR and TERM.
    const hasColors = isTerminal && out.hasColors?.() === true
    this.#out = out
    this.columns = Infinity
    // A terminal of unknown width reports 0.
    if (isTerminal) this.columns = out.columns || 80
    // By default, styleText checks the standard output of the process.
    this.style = (style, text) =>
      hasColors ? styleText(style, visibleLine(text), { validateStream: false }) : visibleLine(text)
  }

  /** Writes lines as they are: text of requests must have passed `style` or `visibleLine`. */
  async lines (lines: readonly string[]): Promise<void> {
    for (const line of lines) {
      if (!this.#out.write(`${line}\n`)) await once(this.#out, 'drain')
    }
  }

  async json (value: unknown, indent?: number): Promise<void> {
    await this.lines([visibleJson(value, indent)])
  }
}

/** A sentence on as many indented lines as it needs. A word that is longer than a line is shortened. */
export function sentenceLines (text: string, { columns, style }: Formatter, color: Style = 'yellow'): string[] {
  const [line, width] = [visibleLine(text), Math.max(1, columns - 2)]
  let parts = [line]
  if (line.length > width) parts = line.match(new RegExp(`.{1,${width}}(?: |$)|\\S+ ?`, 'g')) ?? parts
  return parts.map((part) => `  ${style(color, shortenMiddle(part.trimEnd(), width))}`)
}

/** Shortens a line in the middle: the end of a URL is as useful as its beginning. */
export function shortenMiddle (text: string, columns: number): string {
  const line = visibleLine(text)
  if (line.length <= columns) return line
  const half = Math.max(1, Math.floor((columns - 1) / 2))
  return `${line.slice(0, half)}…${line.slice(-half)}`
}
