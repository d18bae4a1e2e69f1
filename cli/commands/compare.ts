import {
  compareProfiles, type Compared, type Comparison, type Difference
} from '../../lib/profiler/compare/compare.js'
import { previousOf } from '../../lib/profiler/compare/previous.js'
import { milliseconds } from '../../lib/profiler/pages/components.js'
import { counted } from '../../lib/view/counted.js'
import { CommandError, findProfile, searchOf, type Command } from '../command.js'
import { fit, readableTime, statusStyle, type Formatter } from '../terminal.js'

const MAX_VALUE = 1_000

export const compare: Command = {
  args: '<a | previous> <b>',
  summary: 'show how two profiles differ; previous: the newest older one of the same route that matches the criteria',
  criteria: 'all',
  run: async ({ args: [first = '', second = ''], flags, terminal, print, open }) => {
    const { criteria } = searchOf(flags)
    const hasCriteria = Object.keys(criteria).length > 0
    if (first !== 'previous' && hasCriteria) {
      throw new CommandError('Criteria belong to "previous": fastify-hindsight compare previous <b> --error 0.', 2)
    }
    const b = await findProfile(open, second)
    const store = await open()
    const search = store.search.bind(store)
    const token = first === 'previous' ? (await previousOf(b, criteria, search))?.token : first
    if (token === undefined) {
      const suffix = hasCriteria ? ' and matches' : ''
      throw new CommandError(`No profile of the same route is stored that is older than "${b.token}"${suffix}.`)
    }
    const comparison = compareProfiles(await findProfile(open, token), b)
    await print(comparison, () => comparisonLines(comparison, terminal))
  }
}

/** Two profiles for people: the differences by section, and how much is the same. */
export function comparisonLines ({ a, b, differences, equal, sections }: Comparison, format: Formatter): string[] {
  const { style } = format
  const same = sections.filter((one) => one.differences.length === 0 && one.equal > 0)
    .map(({ label, equal }) => `${label} (${equal})`)
  const volatile = sections.reduce((sum, one) => sum + one.always.length, 0)
  const summary = differences === 0
    ? `Nothing that matters differs; ${counted(equal, 'thing is', 'things are')} the same.`
    : `${counted(differences, 'thing differs', 'things differ')}, ${counted(equal, 'is', 'are')} the same.`
  return [
    ...comparedLines('A', a, format),
    ...comparedLines('B', b, format),
    '',
    style('bold', summary),
    ...sections.filter((one) => one.differences.length > 0).flatMap(({ label, differences, equal }) => [
      '',
      style('bold', label.toUpperCase()) +
        style('dim', ` ${counted(differences.length, 'differs', 'differ')}, ${equal} the same`),
      ...differences.flatMap((difference) => differenceLines(difference, format))
    ]),
    ...same.length === 0 ? [] : ['', style('dim', `The same in both: ${same.join(', ')}.`)],
    ...volatile === 0 ? [] : [style('dim', `${volatile} more differ each time (times, ids, nonces): --json has them.`)]
  ]
}

function comparedLines (letter: string, compared: Compared, { style }: Formatter): string[] {
  const { token, time, method, url, status, duration, route, exception } = compared
  return [
    `${style('bold', letter)} ${token} ${style(statusStyle(status), String(status))} ` +
      style('bold', `${method} ${url}`),
    style('dim', `  ${readableTime(time)} · ${milliseconds(duration)} · route ${route ?? 'none'}`),
    ...exception === null ? [] : [style('red', `  ${exception}`)]
  ]
}

function differenceLines ({ what, kind, a, b }: Difference, { style }: Formatter): string[] {
  return [
    style('cyan', `  ${what}`),
    ...kind === 'only-b' ? [] : [style('red', `    - ${textOf(a)}`)],
    ...kind === 'only-a' ? [] : [style('green', `    + ${textOf(b)}`)]
  ]
}

function textOf (value: unknown): string {
  return fit(typeof value === 'string' ? value : JSON.stringify(value), MAX_VALUE)
}
