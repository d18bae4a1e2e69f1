import { sourceOf, successOf } from '../../lib/profiler/compare/last-success.js'
import { profileMarkdown } from '../../lib/profiler/markdown/profile-markdown.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { counted } from '../../lib/view/counted.js'
import { CommandError, findProfile, searchOf, type Command } from '../command.js'
import { shorten } from '../terminal.js'

/** Columns beside a URL in Markdown: the method, and marks of code. */
const MARKS = 12

export const show: Command = {
  args: '<token | latest>',
  summary: 'show a profile as Markdown',
  criteria: 'all',
  options: {
    markdown: { type: 'boolean', help: 'Markdown as in a file, neither wrapped nor shortened' },
    events: { type: 'boolean', help: 'also show the log lines about listeners' },
    panel: { type: 'string', help: 'one part as JSON: exceptions, logs, events, or the data of a collector' }
  },
  run: async ({ args: [token = ''], flags, terminal, open }) => {
    const profile = await findProfile(open, token, searchOf(flags).criteria)
    if (flags.panel !== undefined) return await terminal.json(partOf(profile, String(flags.panel)), 2)
    if (flags.markdown === true && flags.json === true) throw new CommandError('Give --markdown or --json.', 2)
    if (flags.json === true) return await terminal.json(profile, 2)
    const hasEvents = flags.events === true
    const success = await successOf(sourceOf(await open()), profile)
    if (!terminal.isTerminal || flags.markdown === true) {
      return await terminal.line(profileMarkdown(profile, { success, hasEvents }).trimEnd())
    }
    const shown = { ...profile, url: shorten(profile.url, terminal.columns - MARKS) }
    const markdown = profileMarkdown(shown, { success, hasEvents })
    await terminal.lines(markdown.trimEnd().split('\n'))
  }
}

/** A list of a profile, or the data of a collector. Throws a `CommandError` when the profile does not have it. */
export function partOf ({ exceptions, logs, events, collectors }: Profile, name: string): unknown {
  const parts = new Map<string, unknown>(Object.entries({ exceptions, logs, events, ...collectors }))
  if (parts.has(name)) return parts.get(name)
  const names = [...parts.keys()].join(', ')
  throw new CommandError(`Part "${name.slice(0, 100)}" was not found; this profile has: ${names}.`)
}

export const pin = pinning('pin a profile: it is kept until it is unpinned', true)
export const unpin = pinning('unpin a profile', false)

function pinning (summary: string, pinned: boolean): Command {
  return {
    args: '<token | latest>',
    summary,
    run: async ({ args: [wanted = ''], print, open }) => {
      const { token } = await findProfile(open, wanted)
      await (await open()).pin(token, pinned)
      await print({ token, pinned }, () =>
        [`${token} is ${pinned ? 'pinned: it stays until it is unpinned' : 'no longer pinned'}.`])
    }
  }
}

export const purge: Command = {
  args: '',
  summary: 'remove the profiles that match all criteria and are not pinned',
  criteria: 'all',
  options: {
    all: { type: 'boolean', help: 'remove all profiles that are not pinned' },
    pinned: { type: 'boolean', help: 'also remove pinned profiles' }
  },
  run: async ({ flags, print, open }) => {
    const { criteria } = searchOf(flags)
    if (Object.keys(criteria).length === 0 && flags.all !== true) {
      throw new CommandError('purge needs a criterion, or --all for everything.', 2)
    }
    const purged = await (await open()).purge(criteria, { pinned: flags.pinned === true })
    await print({ purged }, () => [`${counted(purged, 'profile was', 'profiles were')} removed.`])
  }
}
