import {
  compareProfiles, type Compared, type Comparison, type Difference
} from '../../lib/profiler/compare/compare.js'
import {
  lastSuccess, NO_DIFFERENCE, previousOf, sourceOf, type LastSuccess
} from '../../lib/profiler/compare/last-success.js'
import { milliseconds } from '../../lib/profiler/pages/components.js'
import { counted } from '../../lib/view/counted.js'
import { CommandError, findProfile, searchOf, type Command } from '../command.js'
import { fit, readableTime, shorten, statusStyle, type Formatter } from '../terminal.js'

const MAX_VALUE = 1_000

export const EVENTS = {
  events: { type: 'boolean', help: 'also show the differences of listeners' }
} as const

export const compare: Command = {
  args: '<a | latest | previous> [b]',
  summary: 'show the differences between two profiles',
  details: 'One profile alone is compared with the last success of its route. "previous" is the newest older profile ' +
    'of the same route that matches the criteria.',
  criteria: 'all',
  options: EVENTS,
  run: async ({ args: [first = '', second], flags, terminal, print, open }) => {
    const { criteria } = searchOf(flags)
    const hasEvents = flags.events === true
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
        [...successLines(success, terminal), '', ...comparisonLines(comparison, terminal, hasEvents)])
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
    await print(comparison, () => comparisonLines(comparison, terminal, hasEvents))
  }
}

function successLines ({ token, summary, differences }: LastSuccess, format: Formatter): string[] {
  return [
    format.style('bold', `Differences from the last success ${summary.token}`),
    ...differences.length === 0 ? [NO_DIFFERENCE] : [],
    ...differences.flatMap(({ what, before, now }) =>
      differenceLines({ what, kind: 'changed', a: before, b: now }, format)),
    format.style('dim', `Replay: fastify-hindsight replay ${token}`)
  ]
}

/**
 * Two profiles for people: the differences by section, and how much is the same; `hasEvents`: those of listeners, too.
 */
export function comparisonLines (comparison: Comparison, format: Formatter, hasEvents = true): string[] {
  const { a, b, differences, equal, sections } = comparison
  const { style } = format
  const shown = sections.map(({ name, label, differences, equal }) =>
    ({ label, equal, differences: hasEvents || name !== 'events' ? differences : [] }))
  const hidden = shown.reduce((rest, one) => rest - one.differences.length, differences)
  const same = sections.filter((one) => one.differences.length === 0 && one.equal > 0)
    .map(({ label, equal }) => `${label} (${equal})`)
  const volatile = sections.reduce((sum, one) => sum + one.always.length, 0)
  const summary = differences === 0
    ? `No differences; ${counted(equal, 'value is', 'values are')} equal.`
    : `${counted(differences, 'difference')}, ${counted(equal, 'value is', 'values are')} equal.`
  return [
    ...comparedLines('A', a, format),
    ...comparedLines('B', b, format),
    '',
    style('bold', summary),
    ...shown.filter((one) => one.differences.length > 0).flatMap(({ label, differences, equal }) => [
      '',
      style('bold', label.toUpperCase()) +
        style('dim', ` ${counted(differences.length, 'difference')}, ${equal} equal`),
      ...differences.flatMap((difference) => differenceLines(difference, format))
    ]),
    ...hidden === 0 ? [] : ['', style('dim', `${counted(hidden, 'difference')} of listeners: --events shows them.`)],
    ...same.length === 0 ? [] : ['', style('dim', `Equal in both: ${same.join(', ')}.`)],
    ...volatile === 0 ? [] : [style('dim', `Ignored (volatile): ${volatile}; --json has them.`)]
  ]
}

function comparedLines (letter: string, compared: Compared, { columns, style }: Formatter): string[] {
  const { token, time, method, url, status, duration, route, exception } = compared
  return [
    `${style('bold', letter)} ${token} ${style(statusStyle(status), String(status))} ` +
      style('bold', shorten(`${method} ${url}`, columns - 13)),
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
