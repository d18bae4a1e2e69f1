import type { Command, CommandContext } from '../command.js'
import { readFlags } from '../criteria.js'
import { heading, summaryLines } from '../summaries.js'

async function list ({ flags, terminal, open }: CommandContext): Promise<void> {
  const search = readFlags(flags)
  const store = await open()
  const { profiles, next } = await store.search(search)
  if (flags.json === true) return await terminal.json({ profiles, next }, 2)
  if (profiles.length === 0) return await terminal.line(Object.keys(search.criteria).length === 0 ? 'No profile is stored.' : 'No stored profile fits.')
  await terminal.line(heading(terminal))
  for (const summary of profiles) {
    for (const line of summaryLines(summary, terminal)) await terminal.line(line)
  }
  if (next !== null) await terminal.line(terminal.style('dim', `There are more: --cursor ${next}`))
}

/** Lists what is stored, newest first. */
export const listCommand: Command = { name: 'list', args: '', what: 'list what is stored, newest first', criteria: true, arity: [0, 0], run: list }

/** The same by another name, for who looks for something. */
export const searchCommand: Command = { name: 'search', args: '', what: 'list what fits all criteria', criteria: true, arity: [0, 0], run: list }
