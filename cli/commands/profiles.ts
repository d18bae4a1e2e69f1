import { successOf } from '../../lib/reading/compare/last-success.js'
import { follow } from '../../lib/store/follow.js'
import { partMarkdown, partOf, profileMarkdown } from '../../lib/reading/profile-markdown.js'
import { shortFile } from '../../lib/errors/stack-frame.js'
import { dataOf, groupedBy, lineOf, listOf, type Data } from '../../lib/parts/read.js'
import { milliseconds } from '../../lib/view/components.js'
import { headerHistory, type HeaderStep } from '../../lib/parts/events/index.js'
import { isNoise, type Profile, type ProfileSummary } from '../../lib/store/profile.js'
import type { ProfilePage } from '../../lib/store/storage.js'
import { factsOf } from '../../lib/store/search-query.js'
import { recordOf } from '../../lib/store/summary.js'
import {
  CRITERIA, findProfile, FOUND, NOTHING_FOUND, SEARCH, searchOf, type Command, type CommandContext
} from '../command.js'
import { counted } from '../../lib/view/visible.js'
import { requestLines, shorten, type Formatter, type Style } from '../terminal.js'

const STYLES: Readonly<Record<HeaderStep['action'], Style>> = { set: 'green', changed: 'yellow', removed: 'red' }

export const list: Command = {
  args: '',
  summary: 'list the profiles that match all criteria, newest first',
  options: SEARCH,
  run: async ({ flags, terminal, print, open }) => {
    const store = await open()
    const { profiles, next } = await store.search(searchOf(flags))
    await print({ profiles, next }, () => listLines({ profiles, next }, terminal))
    return flags.issues === true && profiles.length > 0 ? FOUND : undefined
  }
}

export const tail: Command = {
  args: '',
  summary: 'list matching profiles as they are stored',
  options: CRITERIA,
  run: async ({ flags, terminal, open }) => {
    const { criteria } = searchOf(flags)
    const store = await open()
    const { head } = await store.search({ limit: 1 })
    // Nothing aborts it: Ctrl+C ends the process.
    const { signal } = new AbortController()
    for await (const profiles of follow(store, { criteria, after: head, signal })) {
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
  return [
    ...profiles.flatMap((summary) => listedLines(summary, format)),
    ...next === null ? [] : [format.style('dim', `More profiles: ${option} ${next}`)]
  ]
}

function listedLines (summary: ProfileSummary, format: Formatter): string[] {
  const facts = isNoise(summary) ? [] : factsOf(summary)
  const shown = facts.map((fact) => `  ${format.style('yellow', shorten(fact, format.columns - 2))}`)
  return [...summaryLines(summary, format), ...shown]
}

function summaryLines (summary: ProfileSummary, format: Formatter): string[] {
  const { error, warnings, pinned, values } = summary
  const star = pinned ? '★' : ' '
  if (isNoise(summary)) return requestLines(star, { ...summary, exception: null }, format)
  return requestLines(error ? '●' : warnings > 0 || values?.issues ? '▲' : star, summary, format)
}

async function profileOf ({ args: [wanted = ''], flags, open }: CommandContext): Promise<Profile> {
  return await findProfile(await open(), wanted, searchOf(flags).criteria)
}

export const show: Command = {
  args: '<token | latest>',
  summary: 'show a profile as Markdown',
  options: {
    part: { type: 'string', help: 'one part as a whole, such as logs or cpu; with --json, its data' },
    ...CRITERIA
  },
  run: async (context) => {
    const { flags, print, open } = context
    const profile = await profileOf(context)
    const part = flags.part === undefined ? undefined : String(flags.part)
    const data = part === undefined ? profile : flags.json === true ? partOf(profile, part) : null
    const success = await successOf(await open(), profile)
    const text = part === undefined ? profileMarkdown(profile, success) : partMarkdown(profile, part, success)
    await print(data, () => [text.trimEnd()])
  }
}

export const queries: Command = {
  args: '<token | latest>',
  summary: 'list the queries of a request by shape, with their lines of code',
  options: CRITERIA,
  run: async (context) => {
    const { terminal, print } = context
    const { columns, style } = terminal
    const profile = await profileOf(context)
    const { count = 0, queries: all, findings, ...data } = dataOf(profile, 'queries')
    const [sent, found] = [listOf(all), listOf(findings)]
    await print({ token: profile.token, count, ...data, findings: found, queries: sent }, () => [
      ...summaryLines(recordOf(profile).summary, terminal),
      style('bold', `${counted(Number(count), 'query', 'queries')}, ${milliseconds(data.duration ?? 0)}.`),
      ...found.map(({ text }) => style('yellow', shorten(`▲ ${String(text)}`, columns))),
      ...[...groupedBy(sent, ({ shape, source, error }) => JSON.stringify([shape, source, error])).values()]
        .flatMap((group) => groupLines(group, terminal))
    ])
    return Number(data.failed) > 0 || found.length > 0 ? FOUND : undefined
  }
}

/** Queries of one shape and line; of several, the sums of their times and rows, and the first statement. */
function groupLines (group: readonly Data[], { columns, style }: Formatter): string[] {
  const [{ statement, source, error } = {}] = group
  const sumOf = (name: 'duration' | 'rows'): number => group.reduce((sum, one) => sum + Number(one[name] ?? 0), 0)
  const { message } = Object(error) as { message?: unknown }
  const place = typeof source === 'string' ? shortFile(lineOf(source)) : 'unknown line'
  const hasRows = group.some(({ rows }) => typeof rows === 'number')
  const end = message === undefined ? hasRows ? counted(sumOf('rows'), 'row') : '' : String(message)
  const times = group.length === 1 ? '' : `${group.length} × `
  const line = times + String(statement).replace(/\s+/g, ' ').trim()
  return [
    `${milliseconds(sumOf('duration')).padStart(9)}  ${style('reset', shorten(line, columns - 11))}`,
    `           ${style(message === undefined ? 'dim' : 'red', shorten(`${place}  ${end}`.trim(), columns - 11))}`
  ]
}

export const headers: Command = {
  args: '<token | latest>',
  summary: 'show where each response header was set',
  options: CRITERIA,
  run: async (context) => {
    const { terminal, print } = context
    const profile = await profileOf(context)
    const history = [...headerHistory(profile)]
    await print({ token: profile.token, headers: Object.fromEntries(history) }, () => [
      ...summaryLines(recordOf(profile).summary, terminal),
      ...history.flatMap(([name, steps]) =>
        ['', terminal.style('bold', name), ...steps.flatMap((step) => headerLines(step, terminal))]),
      ...history.length === 0 ? ['', 'No header was set.'] : []
    ])
  }
}

function headerLines ({ action, by, source = '', to }: HeaderStep, { columns, style }: Formatter): string[] {
  return [
    `  ${style(STYLES[action], action.padEnd(8))}${style('reset', by)} ${style('cyan', source)}`.trimEnd(),
    ...to === null ? [] : [`          ${style('reset', shorten(to, columns - 10))}`]
  ]
}

export const purge: Command = {
  args: '',
  summary: 'remove the profiles that match all criteria; pinned ones stay',
  options: { ...CRITERIA, all: { type: 'boolean', help: 'remove all profiles that are not pinned' } },
  run: async ({ flags, print, open }) => {
    const { criteria } = searchOf(flags)
    if (Object.keys(criteria).length === 0 && flags.all !== true) {
      throw new Error('purge needs a criterion, or --all for everything.')
    }
    const purged = await (await open()).purge(criteria)
    await print({ purged }, () => [`${counted(purged, 'profile was', 'profiles were')} removed.`])
  }
}
