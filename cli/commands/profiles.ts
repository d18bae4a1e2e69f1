import { profileMarkdown } from '../../lib/profiler/markdown/profile-markdown.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { counted } from '../../lib/view/counted.js'
import { checkToken, CommandError, namedProfile, searchOf, type Command } from '../command.js'

export const showCommand: Command = {
  name: 'show',
  args: '<token | latest>',
  summary: 'show a profile as Markdown, or the newest that matches the criteria',
  criteria: 'all',
  options: {
    panel: { type: 'string', help: 'one part as JSON: exceptions, logs, events, or the data of a collector' }
  },
  arity: [1, 1],
  run: async (context) => {
    const { flags: { panel, json }, terminal } = context
    const profile = await namedProfile(context)
    if (panel !== undefined) await terminal.json(partOf(profile, String(panel)), 2)
    else if (json === true) await terminal.json(profile, 2)
    else await terminal.line(profileMarkdown(profile).trimEnd())
  }
}

/** A list of a profile, or the data of a collector. Throws a `CommandError` when the profile does not have it. */
export function partOf ({ exceptions, logs, events, collectors }: Profile, name: string): unknown {
  const parts = new Map<string, unknown>(Object.entries({ exceptions, logs, events, ...collectors }))
  if (parts.has(name)) return parts.get(name)
  const names = [...parts.keys()].join(', ')
  throw new CommandError(`Part "${name.slice(0, 100)}" was not found; this profile has: ${names}.`)
}

export const pinCommand: Command = pinning('pin', 'protect a profile from eviction', true)
export const unpinCommand: Command = pinning('unpin', 'end the protection of a profile', false)

function pinning (name: string, summary: string, pinned: boolean): Command {
  return {
    name,
    args: '<token>',
    summary,
    arity: [1, 1],
    run: async ({ args: [token = ''], flags, terminal, open }) => {
      checkToken(token)
      const store = await open()
      if (!await store.pin(token, pinned)) throw new CommandError(`Token "${token}" was not found.`)
      if (flags.json === true) await terminal.json({ token, pinned })
      else await terminal.line(`${token} is ${pinned ? 'pinned: it stays until it is unpinned' : 'no longer pinned'}.`)
    }
  }
}

export const purgeCommand: Command = {
  name: 'purge',
  args: '',
  summary: 'remove the profiles that match all criteria and are not pinned',
  criteria: 'all',
  options: {
    all: { type: 'boolean', help: 'everything that is not pinned' },
    pinned: { type: 'boolean', help: 'pinned profiles, too' }
  },
  arity: [0, 0],
  run: async ({ flags, terminal, open }) => {
    const { criteria } = searchOf(flags)
    if (Object.keys(criteria).length === 0 && flags.all !== true) {
      throw new CommandError('purge needs a criterion, or --all for everything.', 2)
    }
    const store = await open()
    const purged = await store.purge(criteria, { pinned: flags.pinned === true })
    if (flags.json === true) await terminal.json({ purged })
    else await terminal.line(`${counted(purged, 'profile was', 'profiles were')} removed.`)
  }
}
