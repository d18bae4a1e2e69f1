import { profileMarkdown } from '../../lib/profiler/markdown/profile-markdown.js'
import type { Profile } from '../../lib/profiler/profile.js'
import type { ProfileStorage } from '../../lib/profiler/storage/storage.js'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { CommandError, type Command } from '../command.js'
import { readFlags } from '../criteria.js'
import { eventLines, exceptionLines, headLines, logLines, requestLines } from '../profile-lines.js'
import type { Terminal } from '../terminal.js'

const SECTIONS: ReadonlyArray<readonly [name: string, lines: (profile: Profile, terminal: Terminal) => string[]]> = [
  ['exceptions', exceptionLines], ['logs', logLines], ['events', eventLines], ['request', requestLines]
]

/** Shows one profile, or the newest that fits. */
export const showCommand: Command = {
  name: 'show',
  args: '<token | latest>',
  what: 'show a profile, or the newest that fits the criteria',
  criteria: true,
  flags: { panel: { type: 'string' }, markdown: { type: 'boolean' } },
  help: { markdown: 'as Markdown, to paste or to hand to a program', panel: `only one part: ${SECTIONS.map(([name]) => name).join(', ')}, or the data of a collector` },
  arity: [1, 1],
  async run ({ args: [wanted = ''], flags, terminal, open }) {
    const search = readFlags(flags)
    const { panel } = flags
    if (flags.markdown === true && (panel !== undefined || flags.json === true)) throw new CommandError('--markdown shows the whole profile: neither --panel nor --json goes with it.', 2)
    const profile = await namedProfile(open, wanted, search.criteria)
    if (flags.markdown === true) return await terminal.line(profileMarkdown(profile).trimEnd())
    if (flags.json === true) return await terminal.json(panel === undefined ? profile : partOf(profile, String(panel)), 2)
    for (const line of panel === undefined ? whole(profile, terminal) : part(profile, String(panel), terminal)) await terminal.line(line)
  }
}

/** The profile of a token, or with `latest` the newest that fits. */
export async function namedProfile (open: () => Promise<ProfileStorage>, wanted: string, criteria: object): Promise<Profile> {
  if (wanted !== 'latest' && !TOKEN_PATTERN.test(wanted)) throw new CommandError(`"${wanted}" is neither a token of six hexadecimal digits nor "latest".`, 2)
  const store = await open()
  const token = wanted === 'latest' ? (await store.search({ criteria, limit: 1 })).profiles[0]?.token : wanted
  if (token === undefined) throw new CommandError(Object.keys(criteria).length === 0 ? 'No profile is stored.' : 'No stored profile fits.')
  const profile = await store.get(token)
  if (profile === undefined) throw new CommandError(`Token "${token}" was not found.`)
  return profile
}

function whole (profile: Profile, terminal: Terminal): string[] {
  return [
    ...headLines(profile, terminal),
    ...SECTIONS.flatMap(([name, lines]) => {
      const content = lines(profile, terminal)
      return content.length === 0 ? [] : ['', terminal.style('bold', name.toUpperCase()), ...content]
    })
  ]
}

function part (profile: Profile, name: string, terminal: Terminal): string[] {
  const section = SECTIONS.find(([known]) => known === name)
  if (section !== undefined && name !== 'request') return section[1](profile, terminal)
  return JSON.stringify(partOf(profile, name), null, 2).split('\n').map((line) => terminal.style('reset', line))
}

function partOf (profile: Profile, name: string): unknown {
  if (name === 'exceptions' || name === 'logs' || name === 'events') return profile[name]
  if (Object.hasOwn(profile.collectors, name)) return profile.collectors[name]
  throw new CommandError(`Panel "${name}" was not found; this profile has: exceptions, logs, events, ${Object.keys(profile.collectors).join(', ')}.`)
}
