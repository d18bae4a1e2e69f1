import { once } from 'node:events'
import { styleText } from 'node:util'
import { formatTime } from '../view/components.js'
import { listedException, type ProfileSummary } from '../store/profile.js'
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

type ShownRequest = Pick<ProfileSummary, 'token' | 'time' | 'method' | 'url' | 'status' | 'duration' | 'exception'>

/** A request as a line after a mark of one character, and a second line for its exception. */
export function requestLines (mark: string, request: ShownRequest, { columns, style }: Formatter): string[] {
  const { token, status, time, duration, method, url } = request
  const exception = listedException(request)
  const facts = `${time.slice(5, 19).replace('T', ' ')}Z ${formatTime(duration).padStart(9)}`
  const path = url.replace(/^https?:\/\/[^/?#]*(?=\/)/, '')
  const code = String(status || 'no response')
  const target = style('reset', shortenMiddle(`${method} ${path}`, columns - 40 - code.length))
  const outcome = style(statusColor(status), code)
  const lines = [`${mark} ${style('bold', token)}  ${outcome}  ${style('dim', facts)}  ${target}`]
  if (exception !== null) lines.push(`  ${style('red', shortenMiddle(exception, columns - 2))}`)
  return lines
}

function statusColor (status: number): Style {
  if (status >= 500) return 'red'
  if (status >= 400) return 'yellow'
  if (status >= 300) return 'cyan'
  if (status > 0) return 'green'
  return 'dim'
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
