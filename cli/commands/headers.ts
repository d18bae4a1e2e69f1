import { headerHistory, type HeaderStep } from '../../lib/profiler/panels/header-history.js'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { CommandError, type Command } from '../command.js'
import { readFlags } from '../criteria.js'
import { headLines } from '../profile-lines.js'
import { fit, type Style, type Terminal } from '../terminal.js'
import { namedProfile } from './show.js'

const STYLES: Readonly<Record<HeaderStep['action'], Style>> = { set: 'green', changed: 'yellow', removed: 'red' }

/** Tells who set, changed and removed each header of a response, in order. */
export const headersCommand: Command = {
  name: 'headers',
  args: '<token | latest>',
  what: 'tell who set each header of a response, in order, and where',
  criteria: true,
  flags: { header: { type: 'string' } },
  help: { header: 'only this one' },
  arity: [1, 1],
  async run ({ args: [wanted = ''], flags, terminal, open }) {
    const search = readFlags(flags)
    if (wanted !== 'latest' && !TOKEN_PATTERN.test(wanted)) throw new CommandError(`"${wanted}" is neither a token of six hexadecimal digits nor "latest".`, 2)
    const profile = await namedProfile(open, wanted, search.criteria)
    const history = headerHistory(profile)
    const only = typeof flags.header === 'string' ? flags.header.toLowerCase() : null
    if (only !== null && !history.has(only)) throw new CommandError(`The response has no header "${only}"; it has: ${[...history.keys()].sort().join(', ')}.`)
    if (flags.json === true) {
      const headers = [...history].filter(([name]) => only === null || name === only)
      return await terminal.json({ token: profile.token, headers: Object.fromEntries(headers) }, 2)
    }
    const [first = '', second = ''] = headLines(profile, terminal)
    for (const line of [first, second]) await terminal.line(line)
    for (const [name, steps] of history) {
      if (only !== null && name !== only) continue
      await terminal.line()
      await terminal.line(terminal.style('bold', name))
      for (const step of steps) for (const line of stepLines(step, terminal)) await terminal.line(line)
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
