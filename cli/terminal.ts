import { once } from 'node:events'
import { styleText } from 'node:util'
import { blockedSentences } from '../lib/profiler/panels/panel.js'
import type { Profile } from '../lib/profiler/profile.js'
import { isFailure } from '../lib/profiler/summary.js'
import { visibleLine } from '../lib/view/visible.js'

export type Style = Parameters<typeof styleText>[0]

/** A stream that may be a terminal. */
export interface Output extends NodeJS.WritableStream {
  isTTY?: boolean
  columns?: number
  hasColors?: () => boolean
}

/** Writes for people or for programs. Text of requests is written without control characters. */
export class Terminal {
  /** Infinite when the output is not a terminal. */
  readonly columns: number
  readonly #out: Output
  readonly #hasColors: boolean

  constructor (out: Output) {
    this.#out = out
    // A terminal that does not know its width reports 0.
    this.columns = out.isTTY === true ? out.columns || 80 : Infinity
    // `hasColors` reads NO_COLOR, FORCE_COLOR and TERM.
    this.#hasColors = out.isTTY === true && (out.hasColors?.() ?? false)
  }

  /** The text with visible control characters, and with colors when the terminal has them. */
  style (style: Style, text: string): string {
    const shown = visibleLine(text)
    // By default, styleText checks the standard output of the process.
    return this.#hasColors ? styleText(style, shown, { validateStream: false }) : shown
  }

  /** Writes a line as it is: text of requests must have passed `style` or `visibleLine`. */
  async line (text = ''): Promise<void> {
    if (!this.#out.write(`${text}\n`)) await once(this.#out, 'drain')
  }

  async lines (lines: readonly string[]): Promise<void> {
    for (const line of lines) await this.line(line)
  }

  /** Writes data as JSON. */
  async json (value: unknown, indent?: number): Promise<void> {
    // JSON escapes only the control characters of C0.
    await this.line(JSON.stringify(value, null, indent).replace(/[\x7f-\x9f\u2028\u2029]/g, (control) =>
      `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`))
  }
}

/** The request of a profile, its facts, and why it was refused, if it was. */
export function headLines (profile: Profile, terminal: Terminal): string[] {
  const { token, time, method, url, status, duration, ip, route, parent } = profile
  const blocked = blockedSentences(profile)
  const facts = [token, readableTime(time), milliseconds(duration), ip, `route ${route?.name ?? 'none'}`]
  if (parent !== undefined) facts.push(`caused by ${parent}`)
  return [
    `${terminal.style(statusStyle(status), String(status))} ${terminal.style('bold', `${method} ${url}`)}`,
    terminal.style('dim', facts.join(' · ')),
    ...blocked.map((sentence) => terminal.style('yellow', sentence)),
    ...isFailure(profile) || blocked.length > 0 ? [] : [terminal.style('green', 'Nothing failed.')]
  ]
}

/** Truncates a line to this number of columns. */
export function fit (text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(1, columns - 1))}…`
}

/** Such as `12 ms`. */
export function milliseconds (duration: number): string {
  return `${duration.toLocaleString('en', { maximumFractionDigits: duration < 10 ? 2 : duration < 100 ? 1 : 0 })} ms`
}

/** Date and time in UTC, such as `2026-01-31 12:00:00.000`. */
export function readableTime (iso: string): string {
  return iso.slice(0, 23).replace('T', ' ')
}

/** The color of a status. */
export function statusStyle (status: number): Style {
  return status >= 500 ? 'red' : status >= 400 ? 'yellow' : status >= 300 ? 'cyan' : 'green'
}
