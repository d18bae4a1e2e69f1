import { CommandError, type Command } from '../command.js'
import { readFlags } from '../criteria.js'
import { counted } from '../../lib/view/counted.js'

/** Removes what fits. */
export const purgeCommand: Command = {
  name: 'purge',
  args: '',
  what: 'remove what fits all criteria and is not pinned',
  criteria: true,
  flags: { all: { type: 'boolean' }, pinned: { type: 'boolean' } },
  help: { all: 'everything that is not pinned', pinned: 'what is pinned too' },
  arity: [0, 0],
  async run ({ flags, terminal, open }) {
    const { criteria } = readFlags(flags)
    if (flags.limit !== undefined || flags.cursor !== undefined) throw new CommandError('purge takes neither --limit nor --cursor: it removes all that fits.', 2)
    if (Object.keys(criteria).length === 0 && flags.all !== true) throw new CommandError('purge needs a criterion, or --all for everything.', 2)
    const store = await open()
    const purged = await store.purge(criteria, { pinned: flags.pinned === true })
    if (flags.json === true) await terminal.json({ purged })
    else await terminal.line(`${counted(purged, 'profile was', 'profiles were')} removed.`)
  }
}
