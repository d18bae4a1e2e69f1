import { headerHistory, type HeaderStep } from '../../lib/profiler/panels/header-history.js'
import { CommandError, namedProfile, type Command } from '../command.js'
import { fit, headLines, type Style, type Terminal } from '../terminal.js'

const STYLES: Readonly<Record<HeaderStep['action'], Style>> = { set: 'green', changed: 'yellow', removed: 'red' }

export const headersCommand: Command = {
  name: 'headers',
  args: '<token | latest>',
  summary: 'show what set each header of a response, in order, and where',
  criteria: 'all',
  options: { header: { type: 'string', help: 'only this one' } },
  arity: [1, 1],
  run: async (context) => {
    const { flags, terminal } = context
    const profile = await namedProfile(context)
    const history = headerHistory(profile)
    const only = typeof flags.header === 'string' ? flags.header.toLowerCase() : null
    if (only !== null && !history.has(only)) {
      throw new CommandError(`The response has no header "${only}"; it has: ${[...history.keys()].sort().join(', ')}.`)
    }
    if (flags.json === true) {
      const headers = [...history].filter(([name]) => only === null || name === only)
      return await terminal.json({ token: profile.token, headers: Object.fromEntries(headers) }, 2)
    }
    await terminal.lines(headLines(profile, terminal))
    for (const [name, steps] of history) {
      if (only !== null && name !== only) continue
      await terminal.lines(['', terminal.style('bold', name), ...steps.flatMap((step) => stepLines(step, terminal))])
    }
    if (history.size === 0) await terminal.line('\nNo header was set.')
  }
}

function stepLines (step: HeaderStep, terminal: Terminal): string[] {
  const { action, by, source, to } = step
  const place = source === undefined ? '' : ` ${terminal.style('cyan', source)}`
  return [
    `  ${terminal.style(STYLES[action], action.padEnd(8))}${terminal.style('reset', by)}${place}`,
    ...to === null ? [] : [`          ${terminal.style('reset', fit(to, terminal.columns - 18))}`]
  ]
}
