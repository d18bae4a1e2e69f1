import {
  compareProfiles, type Compared, type Comparison, type Difference
} from '../../lib/profiler/compare/compare.js'
import { previousOf } from '../../lib/profiler/compare/previous.js'
import { counted } from '../../lib/view/counted.js'
import { CommandError, profileOf, searchOf, type Command } from '../command.js'
import { fit, milliseconds, readableTime, statusStyle, type Terminal } from '../terminal.js'

const MAX_VALUE = 1_000

export const compareCommand: Command = {
  name: 'compare',
  args: '<a | previous> <b>',
  summary: 'show how two profiles differ; previous: the newest older one of the same route that matches the criteria',
  criteria: 'all',
  arity: [2, 2],
  run: async ({ args: [first = '', second = ''], flags, terminal, open }) => {
    const { criteria } = searchOf(flags)
    const hasCriteria = Object.keys(criteria).length > 0
    if (first !== 'previous' && hasCriteria) {
      throw new CommandError('Criteria belong to "previous": fastify-hindsight compare previous <b> --error 0.', 2)
    }
    const b = await profileOf(open, second)
    const store = await open()
    const search = async (): Promise<string | undefined> =>
      (await previousOf(b, criteria, (options) => store.search(options)))?.token
    const token = first === 'previous' ? await search() : first
    if (token === undefined) {
      const suffix = hasCriteria ? ' and matches' : ''
      throw new CommandError(`No profile of the same route is stored that is older than "${b.token}"${suffix}.`)
    }
    const comparison = compareProfiles(await profileOf(open, token), b)
    if (flags.json === true) await terminal.json(comparison, 2)
    else await terminal.lines(comparisonLines(comparison, terminal))
  }
}

/** Two profiles for people: the differences by section, and how much is the same. */
export function comparisonLines ({ a, b, differences, equal, sections }: Comparison, terminal: Terminal): string[] {
  const same = sections.filter((one) => one.differences.length === 0 && one.equal > 0)
    .map(({ label, equal }) => `${label} (${equal})`)
  const volatile = sections.reduce((sum, one) => sum + one.always.length, 0)
  const summary = differences === 0
    ? `Nothing that matters differs; ${counted(equal, 'thing is', 'things are')} the same.`
    : `${counted(differences, 'thing differs', 'things differ')}, ${counted(equal, 'is', 'are')} the same.`
  return [
    ...comparedLines('A', a, terminal),
    ...comparedLines('B', b, terminal),
    '',
    terminal.style('bold', summary),
    ...sections.filter((one) => one.differences.length > 0).flatMap(({ label, differences, equal }) => [
      '',
      `${terminal.style('bold', label.toUpperCase())} ` +
        terminal.style('dim', `${counted(differences.length, 'differs', 'differ')}, ${equal} the same`),
      ...differences.flatMap((difference) => differenceLines(difference, terminal))
    ]),
    ...same.length === 0 ? [] : ['', terminal.style('dim', `The same in both: ${same.join(', ')}.`)],
    ...volatile === 0
      ? []
      : [terminal.style('dim', `${volatile} more differ each time (times, ids, nonces): --json has them.`)]
  ]
}

function comparedLines (letter: string, compared: Compared, terminal: Terminal): string[] {
  const { token, time, method, url, status, duration, route, exception } = compared
  const facts = [readableTime(time), milliseconds(duration), `route ${route ?? 'none'}`].join(' · ')
  return [
    `${terminal.style('bold', letter)} ${token} ${terminal.style(statusStyle(status), String(status))} ` +
      terminal.style('bold', `${method} ${url}`),
    `  ${terminal.style('dim', facts)}`,
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
