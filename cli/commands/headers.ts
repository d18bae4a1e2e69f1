import { headerHistory, type HeaderStep } from '../../lib/profiler/panels/headers.js'
import { CommandError, findProfile, searchOf, type Command } from '../command.js'
import { fit, headLines, type Formatter, type Style } from '../terminal.js'

const STYLES: Readonly<Record<HeaderStep['action'], Style>> = { set: 'green', changed: 'yellow', removed: 'red' }

export const headers: Command = {
  args: '<token | latest>',
  summary: 'show where each response header was set',
  criteria: 'all',
  options: { header: { type: 'string', help: 'show only this header' } },
  run: async ({ args: [token = ''], flags, terminal, print, open }) => {
    const profile = await findProfile(open, token, searchOf(flags).criteria)
    const history = headerHistory(profile)
    const only = flags.header === undefined ? undefined : String(flags.header).toLowerCase()
    const shown = [...history].filter(([name]) => only === undefined || name === only)
    if (only !== undefined && shown.length === 0) {
      throw new CommandError(`The response has no header "${only}"; it has: ${[...history.keys()].sort().join(', ')}.`)
    }
    await print({ token: profile.token, headers: Object.fromEntries(shown) }, () => [
      ...headLines(profile, terminal),
      ...shown.flatMap(([name, steps]) =>
        ['', terminal.style('bold', name), ...steps.flatMap((step) => stepLines(step, terminal))]),
      ...shown.length === 0 ? ['', 'No header was set.'] : []
    ])
  }
}

function stepLines ({ action, by, source, to }: HeaderStep, { columns, style }: Formatter): string[] {
  const place = source === undefined ? '' : ` ${style('cyan', source)}`
  return [
    `  ${style(STYLES[action], action.padEnd(8))}${style('reset', by)}${place}`,
    ...to === null ? [] : [`          ${style('reset', fit(to, columns - 18))}`]
  ]
}
