import { once } from 'node:events'
import { styleText } from 'node:util'
import { visibleLine } from '../lib/view/visible.js'

export type Style = Parameters<typeof styleText>[0]

/** A stream that may be a screen. */
export interface Output extends NodeJS.WritableStream {
  isTTY?: boolean
  columns?: number
  hasColors?: () => boolean
}

/** Writes for people or for programs; what came from a request reaches the screen without any control. */
export class Terminal {
  /** Where standard output is a screen: how many columns it has. */
  readonly columns: number
  readonly #out: Output
  readonly #colours: boolean

  constructor (out: Output) {
    this.#out = out
    // A screen that does not know how wide it is says 0.
    this.columns = out.isTTY === true ? out.columns || 80 : Infinity
    // Knows of NO_COLOR, FORCE_COLOR and TERM.
    this.#colours = out.isTTY === true && (out.hasColors?.() ?? false)
  }

  /** Coloured where the output is a screen that can show it; the text is made visible first. */
  style (style: Style, text: string): string {
    const shown = visibleLine(text)
    // Whether there are colours is known here; Node.js would ask for those of its own standard output.
    return this.#colours ? styleText(style, shown, { validateStream: false }) : shown
  }

  /** A line as it is: whatever is hostile in it has been through `style` or `visibleLine`. */
  async line (text = ''): Promise<void> {
    if (!this.#out.write(`${text}\n`)) await once(this.#out, 'drain')
  }

  /** Data for programs, on one line or several. */
  async json (value: unknown, indent?: number): Promise<void> {
    // JSON escapes the controls of C0 only.
    const text = JSON.stringify(value, null, indent).replace(/[\x7f-\x9f\u2028\u2029]/g, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`)
    await this.line(text)
  }
}

/** Shortens a line to so many columns. */
export function fit (text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(1, columns - 1))}…`
}

/** `12 ms` and the like. */
export function milliseconds (duration: number): string {
  return `${duration.toLocaleString('en', { maximumFractionDigits: duration < 10 ? 2 : duration < 100 ? 1 : 0 })} ms`
}

/** Date and time in UTC, without what nobody reads in a list. */
export function readableTime (iso: string): string {
  return iso.slice(0, 23).replace('T', ' ')
}

/** The colour of a status. */
export function statusStyle (status: number): Style {
  return status >= 500 ? 'red' : status >= 400 ? 'yellow' : status >= 300 ? 'cyan' : 'green'
}
