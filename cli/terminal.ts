import { once } from 'node:events'
import { stripVTControlCharacters, styleText } from 'node:util'
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

/** The width of a terminal that does not report one, and of the help in a file. */
const DEFAULT_COLUMNS = 80
const MIN_COLUMNS = 40
/** A character, and the colors that begin or end at it. */
const CHARACTER = /(?:\u001b\[\d+m)*[^](?:\u001b\[\d+m)*/gu

/** Writes for people or for programs. Text of requests is written without control characters. */
export class Terminal implements Formatter {
  readonly columns: number
  readonly isTerminal: boolean
  readonly style: Formatter['style']
  readonly #out: Output

  constructor (out: Output) {
    this.#out = out
    this.isTerminal = out.isTTY === true
    // A terminal that does not know its width reports 0.
    const columns = Number(process.env.COLUMNS) || (this.isTerminal ? out.columns || DEFAULT_COLUMNS : Infinity)
    this.columns = Math.max(MIN_COLUMNS, columns)
    // `hasColors` reads NO_COLOR, FORCE_COLOR and TERM.
    const hasColors = this.isTerminal && (out.hasColors?.() ?? false)
    // By default, styleText checks the standard output of the process.
    this.style = (style, text) =>
      hasColors ? styleText(style, visibleLine(text), { validateStream: false }) : visibleLine(text)
  }

  /** Writes a line as it is: text of requests must have passed `style` or `visibleLine`. */
  async line (text: string): Promise<void> {
    if (!this.#out.write(`${text}\n`)) await once(this.#out, 'drain')
  }

  /** Writes lines for people: longer ones are wrapped. */
  async lines (lines: readonly string[]): Promise<void> {
    for (const line of lines) await this.line(wrap(line, this.columns))
  }

  /** Writes the help, in a file too at the width of a terminal: `  name  text` with aligned texts. */
  async help (lines: readonly string[]): Promise<void> {
    const columns = Number.isFinite(this.columns) ? this.columns : DEFAULT_COLUMNS
    for (const line of lines) await this.line(wrap(line, columns, /^ {2}\S+ +/.exec(line)?.[0].length ?? 0))
  }

  /** Writes data as JSON. */
  async json (value: unknown, indent?: number): Promise<void> {
    await this.line(visibleJson(value, indent))
  }
}

/** The request of a profile, its facts, and why it was refused, if it was. */
export function headLines (profile: Profile, { columns, style }: Formatter): string[] {
  const { token, time, method, url, status, duration, ip, route, parent } = profile
  const blocked = blockedSentences(profile)
  const facts = [token, readableTime(time), milliseconds(duration), ip, `route ${route?.name ?? 'none'}`]
  if (parent !== undefined) facts.push(`parent request ${parent}`)
  return [
    `${style(statusStyle(status), String(status))} ${style('bold', shorten(`${method} ${url}`, columns - 4))}`,
    style('dim', facts.join(' · ')),
    ...blocked.map((sentence) => style('yellow', sentence)),
    ...isFailure(profile) || blocked.length > 0 ? [] : [style('green', 'Nothing failed.')]
  ]
}

/** Truncates a line to this number of columns. */
export function fit (text: string, columns: number): string {
  const line = visibleLine(text)
  return line.length <= columns ? line : `${line.slice(0, Math.max(1, columns - 1))}…`
}

/** Shortens a line in the middle: the end of a URL is as useful as its beginning. */
export function shorten (text: string, columns: number): string {
  const line = visibleLine(text)
  const end = Math.floor((columns - 1) / 2)
  return line.length <= columns ? line : `${line.slice(0, columns - 1 - end)}…${line.slice(-end)}`
}

// Breaks a line at spaces, or within a word that is longer than a line; `indent`: of the lines after the first.
function wrap (line: string, columns: number, indent = line.search(/[^ ]|$/) + 2): string {
  const rest = line.match(CHARACTER) ?? []
  const lines: string[] = []
  while (rest.length > columns) {
    const space = rest.findLastIndex((character, i) => i <= columns && stripVTControlCharacters(character) === ' ')
    const end = space > indent ? space + 1 : columns
    lines.push(rest.splice(0, end, ...' '.repeat(indent)).join('').trimEnd())
  }
  return [...lines, rest.join('')].join('\n')
}

/** Date and time in UTC, such as `2026-01-31 12:00:00.000`. */
export function readableTime (iso: string): string {
  return iso.slice(0, 23).replace('T', ' ')
}

/** The color of a status. */
export function statusStyle (status: number): Style {
  return status >= 500 ? 'red' : status >= 400 ? 'yellow' : status >= 300 ? 'cyan' : 'green'
}
