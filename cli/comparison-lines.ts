import type { Compared, Comparison, Difference } from '../lib/profiler/compare/comparison.js'
import { counted } from '../lib/view/counted.js'
import { fit, milliseconds, readableTime, statusStyle, type Terminal } from './terminal.js'

const MAX_VALUE = 1_000

/** Two profiles on a screen: what differs, section by section, and how much is the same. */
export function comparisonLines ({ a, b, differences, equal, sections }: Comparison, terminal: Terminal): string[] {
  const same = sections.filter((one) => one.differences.length === 0 && one.equal > 0)
  const always = sections.reduce((sum, one) => sum + one.always.length, 0)
  return [
    ...comparedLines('A', a, terminal),
    ...comparedLines('B', b, terminal),
    '',
    terminal.style('bold', differences === 0 ? `Nothing that matters differs; ${counted(equal, 'thing is', 'things are')} the same.` : `${counted(differences, 'thing differs', 'things differ')}, ${counted(equal, 'is', 'are')} the same.`),
    ...sections.filter((one) => one.differences.length > 0).flatMap((one) => [
      '',
      `${terminal.style('bold', one.label.toUpperCase())} ${terminal.style('dim', `${counted(one.differences.length, 'differs', 'differ')}, ${one.equal} the same`)}`,
      ...one.differences.flatMap((difference) => differenceLines(difference, terminal))
    ]),
    ...same.length === 0 ? [] : ['', terminal.style('dim', `The same in both: ${same.map((one) => `${one.label} (${one.equal})`).join(', ')}.`)],
    ...always === 0 ? [] : [terminal.style('dim', `${always} more differ each time (times, ids, nonces): --json has them.`)]
  ]
}

function comparedLines (letter: string, { token, time, method, url, status, duration, route, exception }: Compared, terminal: Terminal): string[] {
  return [
    `${terminal.style('bold', letter)} ${token} ${terminal.style(statusStyle(status), String(status))} ${terminal.style('bold', `${method} ${url}`)}`,
    `  ${terminal.style('dim', [readableTime(time), milliseconds(duration), `route ${route ?? 'none'}`].join(' · '))}`,
    ...exception === null ? [] : [`  ${terminal.style('red', exception)}`]
  ]
}

function differenceLines ({ what, kind, a, b }: Difference, terminal: Terminal): string[] {
  return [
    `  ${terminal.style('cyan', what)}`,
    ...kind === 'only-b' ? [] : [terminal.style('red', `    - ${textOf(a)}`)],
    ...kind === 'only-a' ? [] : [terminal.style('green', `    + ${textOf(b)}`)]
  ]
}

function textOf (value: unknown): string {
  return fit(typeof value === 'string' ? value : JSON.stringify(value), MAX_VALUE)
}
