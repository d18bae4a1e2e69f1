import { compareProfiles } from '../../lib/profiler/compare/compare.js'
import type { Compared, Comparison, Difference } from '../../lib/profiler/compare/comparison.js'
import { lastSuccess, NO_DIFFERENCE, sourceOf, type LastSuccess } from '../../lib/profiler/compare/last-success.js'
import { previousOf } from '../../lib/profiler/compare/previous.js'
import { milliseconds } from '../../lib/profiler/pages/components.js'
import { counted } from '../../lib/view/counted.js'
import { CommandError, findProfile, searchOf, type Command } from '../command.js'
import { fit, readableTime, statusStyle, type Formatter } from '../terminal.js'

const MAX_VALUE = 1_000

export const compare: Command = {
  args: '<a | latest | previous> [b]',
  summary: 'show how two profiles differ: one alone from the last success of its route, "previous" from the newest ' +
    'older one of the same route that matches the criteria',
  criteria: 'all',
  run: async ({ args: [first = '', second], flags, terminal, print, open }) => {
    const { criteria } = searchOf(flags)
    const hasCriteria = Object.keys(criteria).length > 0
    if (hasCriteria && first !== 'previous' && first !== 'latest') {
      throw new CommandError('Criteria belong to "previous" or "latest", such as compare previous <b> --error 0.', 2)
    }
    if (second === undefined && first !== 'previous') {
      const b = await findProfile(open, first, criteria)
      const success = await lastSuccess(sourceOf(await open()), b)
      if (success === null) throw new CommandError(`No success of the same route is stored before "${b.token}".`)
      const comparison = compareProfiles(await findProfile(open, success.summary.token), b)
      return await print({ ...comparison, lastSuccess: success }, () =>
        [...successLines(success, terminal), '', ...comparisonLines(comparison, terminal)])
    }
    const b = await findProfile(open, second ?? 'latest')
    const store = await open()
    const search = store.search.bind(store)
    const token = first === 'previous' ? (await previousOf(b, criteria, search))?.token : first
    if (token === undefined) {
      const suffix = hasCriteria ? ' and matches' : ''
      throw new CommandError(`No profile of the same route is stored that is older than "${b.token}"${suffix}.`)
    }
    const comparison = compareProfiles(await findProfile(open, token, criteria), b)
    await print(comparison, () => comparisonLines(comparison, terminal))
  }
}

function successLines ({ token, summary, differences }: LastSuccess, format: Formatter): string[] {
  return [
    format.style('bold', `Differences from the last success ${summary.token}`),
    ...differences.length === 0 ? [NO_DIFFERENCE] : [],
    ...differences.flatMap(({ what, before, now }) =>
      differenceLines({ what, kind: 'changed', a: before, b: now }, format)),
    format.style('dim', `Send it again: fastify-hindsight replay ${token}`)
  ]
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
