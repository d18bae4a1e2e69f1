import { once } from 'node:events'
import { styleText } from 'node:util'
import { milliseconds } from '../lib/profiler/pages/components.js'
import { blockedSentences } from '../lib/profiler/panels/panel.js'
import type { Profile } from '../lib/profiler/profile.js'
import { isFailure } from '../lib/profiler/summary.js'
import { visibleJson } from '../lib/view/json.js'
import { visibleLine } from '../lib/view/visible.js'

export type Style = Parameters<typeof styleText>[0]

/** A stream that may be a terminal. */
export interface Output extends NodeJS.WritableStream {
  isTTY?: boolean
  columns?: number
  hasColors?: () => boolean
}

/** How lines are formatted. */
export interface Formatter {
  /** The width of a line; infinite when the output is not a terminal. */
  readonly columns: number
  /** The text with visible control characters, and with colors where the output has them. */
  style: (style: Style, text: string) => string
}

/** Writes for people or for programs. Text of requests is written without control characters. */
export class Terminal implements Formatter {
  readonly columns: number
  readonly style: Formatter['style']
  readonly #out: Output

  constructor (out: Output) {
    this.#out = out
    // A terminal that does not know its width reports 0.
    this.columns = out.isTTY === true ? out.columns || 80 : Infinity
    // `hasColors` reads NO_COLOR, FORCE_COLOR and TERM.
    const hasColors = out.isTTY === true && (out.hasColors?.() ?? false)
    // By default, styleText checks the standard output of the process.
    this.style = (style, text) =>
      hasColors ? styleText(style, visibleLine(text), { validateStream: false }) : visibleLine(text)
  }

  /** Writes a line as it is: text of requests must have passed `style` or `visibleLine`. */
  async line (text: string): Promise<void> {
    if (!this.#out.write(`${text}\n`)) await once(this.#out, 'drain')
  }

  async lines (lines: readonly string[]): Promise<void> {
    for (const line of lines) await this.line(line)
  }

  /** Writes data as JSON. */
  async json (value: unknown, indent?: number): Promise<void> {
    await this.line(visibleJson(value, indent))
  }
}

/** The request of a profile, its facts, and why it was refused, if it was. */
export function headLines (profile: Profile, { style }: Formatter): string[] {
  const { token, time, method, url, status, duration, ip, route, parent } = profile
  const blocked = blockedSentences(profile)
  const facts = [token, readableTime(time), milliseconds(duration), ip, `route ${route?.name ?? 'none'}`]
  if (parent !== undefined) facts.push(`caused by ${parent}`)
  return [
    `${style(statusStyle(status), String(status))} ${style('bold', `${method} ${url}`)}`,
    style('dim', facts.join(' · ')),
    ...blocked.map((sentence) => style('yellow', sentence)),
    ...isFailure(profile) || blocked.length > 0 ? [] : [style('green', 'Nothing failed.')]
  ]
}

/** Truncates a line to this number of columns. */
export function fit (text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(1, columns - 1))}…`
}

/** Date and time in UTC, such as `2026-01-31 12:00:00.000`. */
export function readableTime (iso: string): string {
  return iso.slice(0, 23).replace('T', ' ')
}

/** The color of a status. */
export function statusStyle (status: number): Style {
  return status >= 500 ? 'red' : status >= 400 ? 'yellow' : status >= 300 ? 'cyan' : 'green'
}
