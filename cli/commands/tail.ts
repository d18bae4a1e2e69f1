import { follow } from '../../lib/profiler/follow.js'
import type { Command } from '../command.js'
import { readFlags } from '../criteria.js'
import { heading, summaryLines } from '../summaries.js'

/** Follows what comes, until it is interrupted. */
export const tailCommand: Command = {
  name: 'tail',
  args: '',
  what: 'follow the requests that come, and fit',
  criteria: true,
  arity: [0, 0],
  async run ({ flags, terminal, open, signal }) {
    const { criteria } = readFlags(flags)
    const store = await open()
    const { head } = await store.search({ limit: 1 })
    if (flags.json !== true) await terminal.line(heading(terminal))
    for await (const { profiles } of follow(store, { criteria, after: head, signal })) {
      for (const summary of profiles) {
        if (flags.json === true) await terminal.json(summary)
        else for (const line of summaryLines(summary, terminal)) await terminal.line(line)
      }
    }
  }
}
