import { followProfiles, NOTHING_FOUND } from '../../store/follow.js'
import { markdownOf, partOf } from '../../reading/profile-markdown.js'
import { parts } from '../../parts/index.js'
import { leadOf, leadParagraph, overview } from '../../parts/overview/index.js'
import { queries as queriesPart } from '../../parts/queries/index.js'
import { dataOf, problemsOf, resultsOf } from '../../parts/read.js'
import { isNoise, type Profile, type ProfileSummary } from '../../store/profile.js'
import type { ProfilePage } from '../../store/storage.js'
import { factsOf } from '../../store/search-query.js'
import { recordOf } from '../../store/summary.js'
import type { Command } from '../command.js'
import { requestLines } from '../request-lines.js'
import { CRITERIA, SEARCH, searchOf, storedProfile } from '../search.js'
import { formatCount } from '../../view/text.js'
import { sentenceLines, type Formatter } from '../terminal.js'

export const list: Command = {
  args: '',
  options: SEARCH,
  run: async ({ flags, terminal, print, open }) => {
    const store = await open()
    const { profiles, next } = await store.search(searchOf(flags))
    await print({ profiles, next }, () => listLines({ profiles, next }, terminal))
    return flags.issues === true && profiles.length > 0
  }
}

export const tail: Command = {
  args: '',
  options: CRITERIA,
  run: async ({ flags, terminal, open }) => {
    const { criteria } = searchOf(flags)
    const store = await open()
    const { head } = await store.search({ limit: 1 })
    // Nothing aborts it: Ctrl+C ends the process.
    const { signal } = new AbortController()
    for await (const profiles of followProfiles(store, { criteria, after: head, signal })) {
      for (const summary of profiles) {
        if (flags.json === true) await terminal.json(summary)
        else await terminal.lines(listedLines(summary, terminal))
      }
    }
  }
}

/** The lines of a list. `option`: what the cursor of the next page follows. */
export function listLines (
  { profiles, next }: Pick<ProfilePage, 'profiles' | 'next'>, format: Formatter, option = '--cursor'
): string[] {
  if (profiles.length === 0) return [NOTHING_FOUND]
  const lines = profiles.flatMap((summary) => listedLines(summary, format))
  if (next !== null) lines.push(format.style('dim', `More profiles: ${option} ${next}`))
  return lines
}

function listedLines (summary: ProfileSummary, format: Formatter): string[] {
  const { error, warnings, pinned, values } = summary
  const star = pinned ? '★' : ' '
  if (isNoise(summary)) return requestLines(star, { ...summary, exception: null }, format)
  const mark = problemMark(error, warnings > 0 || Boolean(values?.issues)) ?? star
  return [
    ...requestLines(mark, summary, format),
    ...factsOf(summary).flatMap((fact) => sentenceLines(fact, format))
  ]
}

function problemMark (hasErrors: boolean, hasWarnings: boolean): string | undefined {
  if (hasErrors) return '●'
  return hasWarnings ? '▲' : undefined
}

export const show: Command = {
  args: '<token | latest>',
  options: {
    part: { type: 'string', help: 'one part as a whole, such as logs or cpu; with --json, its data' },
    ...CRITERIA
  },
  run: async ({ args: [token], flags, print, open }) => {
    const { json, part } = flags
    const profile = await storedProfile({ flags, open }, token)
    let data: unknown = profile
    if (json === true && part !== undefined) data = partOf(profile, String(part))
    const text = await markdownOf(await open(), profile, part)
    await print(data, () => [text.trimEnd()])
  }
}

export const queries: Command = {
  args: '<token | latest>',
  options: CRITERIA,
  run: async ({ args: [token], flags, terminal, print, open }) => {
    const profile = await storedProfile({ flags, open }, token)
    const { errors, warnings } = problemsOf(queriesPart, profile)
    const mark = problemMark(errors > 0, warnings > 0)
    const sections = resultsOf([queriesPart], profile, (_, data) => queriesPart.markdown?.(data, profile, parts))
    const lines = sections.flatMap(({ text = '' }) => text.split('\n'))
      .flatMap((line) => sentenceLines(line, terminal, line.startsWith('- ') ? 'yellow' : 'reset'))
    if (lines.length === 0) lines.push('No query was recorded.')
    const data = { count: 0, findings: [], queries: [], ...dataOf(profile, queriesPart.name) }
    await print({ token: profile.token, ...data }, () => [
      ...leadLines(profile, terminal),
      ...requestLines(mark ?? ' ', { ...recordOf(profile).summary, exception: null }, terminal),
      ...lines
    ])
    return mark !== undefined
  }
}

/** The first sentence about a request in its color, unless it is about a success as expected. */
function leadLines (profile: Profile, terminal: Formatter): string[] {
  // A store of the application may hold anything.
  const [lead] = resultsOf([overview], profile, () => leadOf(profile, parts))
  if (lead === undefined || lead.mood === 'good') return []
  return sentenceLines(leadParagraph(profile, lead), terminal, lead.mood === 'bad' ? 'red' : 'yellow')
}

export const purge: Command = {
  args: '',
  options: { ...CRITERIA, all: { type: 'boolean', help: 'remove all profiles that are not pinned' } },
  run: async ({ flags, print, open }) => {
    const { criteria } = searchOf(flags)
    if (Object.keys(criteria).length === 0 && flags.all !== true) {
      throw new Error('purge needs a criterion, or --all for everything.')
    }
    const purged = await (await open()).purge(criteria)
    await print({ purged }, () => [`${formatCount(purged, 'profile was', 'profiles were')} removed.`])
  }
}
