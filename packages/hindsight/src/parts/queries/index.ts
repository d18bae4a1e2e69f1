import type { Hint } from '../../errors/hints.js'
import type { Profile } from '../../store/profile.js'
import { readAsset } from '../../view/asset.js'
import { formatTime } from '../../view/components.js'
import { formatCount, cutText, html, presentItems, unbrokenUnits, wordFor, type SafeHtml } from '../../view/text.js'
import { NUMBER_COMPARISON, type Part, type PartTime, type TimelineEntry } from '../part.js'
import { comparedNames, namesNotReached } from '../pairing.js'
import {
  addressOf, afterTitle, dataOf, firstOf, groupedBy, lineOf, listOf, numberOf, timeOf, withLate, type Data
} from '../read.js'
import { queryLog } from './collector.js'
import type { QueryGroup } from './groups.js'
import { findingText, panelOf } from './panel.js'
import type { Finding, QueryError, RecordedQuery } from './recorded-query.js'
import { shortShape } from './sql.js'
import { markOf, runnableText } from './statement-text.js'
import { queryPlace } from './trace.js'
import { unseenData, unseenSentence, type UnseenDriver } from './unseen.js'

const MAX_STATEMENT = 200
const MAX_NAME = 100
const LAST_QUERIES = 5
/** Findings of the overview. */
const MAX_FINDINGS = 3
/** The order of findings among those of all parts: what may be wrong, then what takes time. */
const SEVERITY = { transaction: 15, 'n+1': 20, pool: 25, slow: 50, repeated: 60, duplicates: 70 }

export const queries: Part<Data> = {
  ...queryLog,
  routes (app, pages) {
    // No role permits it in production.
    if (!app.hindsight.debug) return
    app.post('/:token/plan', pages.optionsOf('_profiler_plan'), async (request, reply) =>
      await (await import('./plan.js')).sendPlan(request, reply, pages))
  },
  complete: completed,
  build: unseenData,
  sentence: (data) => unseenOf(data).map((driver) => `${unseenSentence(driver)}.`).join(' ') || undefined,
  panel: {
    label: 'Queries',
    group: 'queries',
    count: ({ count }) => numberOf(count) ?? undefined,
    problem: ({ failed }) => numberOf(failed) ?? 0,
    warnings: (data) => findingsOf(data).length,
    render (data, { token }, view) {
      if (unseenOf(data).length > 0) return unseenPanel(data)
      return panelOf({
        queries: recorded(data.queries),
        groups: groupsOf(data),
        findings: findingsOf(data),
        count: Number(data.count),
        time: timeText(data)
      }, token, view)
    }
  },
  issue (data) {
    return failedQueries(data)[0]?.error.message ?? firstOf(findingsOf(data).map(({ text }) => text))
  },
  findings: (data) => [
    ...failedQueries(data).map(failureText).map((text) => ({ text, order: 10 })),
    ...findingsOf(data).map(({ kind, text }) => ({ text, order: SEVERITY[kind] }))
  ],
  timeline: ({ queries }, profile) => recorded(queries).map((query, i) => entryOf(query, i, profile)),
  overview (data, profile, { editor }) {
    if (numberOf(data.count) === null) return []
    const findings = findingsOf(data).slice(0, MAX_FINDINGS)
      .map((finding) => html`<div>${findingText(finding, recorded(data.queries), editor)}</div>`)
    const [failed] = failedQueries(data)
    const failure = failed !== undefined &&
      html`<div class="failure"><code>${oneLine(failed.statement, MAX_NAME)}</code> ${failed.error.message}</div>`
    const value = html`<a href="${addressOf('queries')}">${unbrokenUnits(sentence(data, profile))}</a>${failure}\
${findings}`
    return [{ order: 25, title: 'Queries', value }]
  },
  toolbar (data) {
    const [count, failed] = [numberOf(data.count) ?? 0, numberOf(data.failed) ?? 0]
    return {
      order: 50,
      className: `queries ${moodOf(data)}`,
      title: 'Queries',
      head: count > 0 && html`${count} <span class="label">${wordFor(count, 'query', 'queries')}</span>`,
      facts: { Queries: count, Time: formatTime(data.duration), Failed: failed },
      values: { queries: { count, failed, duration: data.duration ?? 0 } }
    }
  },
  toolbarStyle: '.queries { --icon: "M7 0c4 0 6 1 6 2.5v9C13 13 11 14 7 14s-6-1-6-2.5v-9C1 1 3 0 7 0z" }\n',
  markdown (data, profile) {
    const groups = groupsOf(data)
    if (groups.length === 0) return []
    const failures = [...groupedBy(failedQueries(data).map(failureText), (text) => text)]
      .map(([text, { length }]) => length === 1 ? `- ${text}` : `- ${length} × ${text}`)
    const findings = findingsOf(data).map(({ text }) => `- ${text}.`)
    const shapes = groups.map((group) => groupText(group, recorded(data.queries)))
    const text = [`${sentence(data, profile)}.`, ...failures, ...findings, ...shapes].join('\n')
    return [{ order: 25, title: 'Queries', text }]
  },
  hints (data, { exceptions }) {
    if (exceptions.length === 0) return []
    return failureHints(data).map((hint) => ({ ...hint, order: hint.isBackground === true ? 45 : 25 }))
  },
  comparison: [{ values: countsByName }],
  times: timesOfQueries,
  differences: [{ order: 15, absent: 'not sent', values: countsByName }],
  search: {
    queries: {
      valueOf: ({ count }) => count,
      pattern: NUMBER_COMPARISON,
      problem: 'not a number of queries such as >20',
      help: 'number of queries, such as >20',
      column: 'Queries'
    },
    'n+1': {
      valueOf: (data) => findingsOf(data).some(({ kind }) => kind === 'n+1') ? 'yes' : undefined,
      pattern: /^yes$/,
      problem: 'not "yes"',
      help: 'yes: profiles with one query in a loop',
      // The issue of these profiles says it.
      column: null
    }
  },
  style: readAsset(import.meta.url, './style.css')
}

function unseenOf ({ unseen }: Data): UnseenDriver[] {
  return listOf(unseen) as unknown as UnseenDriver[]
}

function unseenPanel (data: Data): SafeHtml {
  return html`${unseenOf(data).map((driver) => html`<p class="note">${unseenSentence(driver)}.</p>`)}`
}

/** The data with those of queries that were sent, or ended, after the response. */
function completed (data: Data, late: Data): Data {
  const [known, later] = [listOf(data.queries), listOf(late.queries)]
  const { all, places } = withLate(known, later)
  const replaced = places.filter((place) => place < known.length)
  const groups = new Map(groupsOf(data).map((group) => [`${group.system} ${group.shape}`, group]))
  for (const group of groupsOf(late)) {
    const { system, shape, count, duration, sources } = group
    const earlier = groups.get(`${system} ${shape}`) ?? { ...group, count: 0, duration: 0 }
    const counted = replaced.filter((place) => known[place]?.system === system && known[place]?.shape === shape).length
    groups.set(`${system} ${shape}`, {
      ...earlier,
      count: earlier.count + count - counted,
      duration: earlier.duration + duration,
      sources: [...new Set([...earlier.sources, ...sources])]
    })
  }
  const queries = all as unknown as RecordedQuery[]
  return {
    ...data,
    count: Number(data.count ?? 0) + Number(late.count) - replaced.length,
    duration: timeOf(queries),
    failed: Number(data.failed ?? 0) + Number(late.failed),
    queries,
    groups: [...groups.values()],
    findings: [
      ...findingsOf(data),
      ...findingsOf(late).map((finding) => ({ ...finding, queries: finding.queries.map((i) => places[i] ?? i) }))
    ]
  }
}

function moodOf (data: Data): string {
  if (Number(data.failed) > 0) return 'bad'
  return findingsOf(data).length > 0 ? 'warn' : ''
}

function recorded (queries: unknown): RecordedQuery[] {
  return listOf(queries) as unknown as RecordedQuery[]
}

type Failed = RecordedQuery & { error: QueryError }

function failedQueries ({ queries }: Data): Failed[] {
  return recorded(queries).filter((query): query is Failed => query.error !== undefined)
}

function failureText (query: Failed): string {
  return `\`${shortShape(query.shape)}\` failed: ${oneLine(query.error.message)} (${queryPlace(query)})`
}

function findingsOf ({ findings }: Data): Finding[] {
  return listOf(findings) as unknown as Finding[]
}

/** The groups, those that took the longest first. */
function groupsOf ({ groups }: Data): QueryGroup[] {
  return (listOf(groups) as unknown as QueryGroup[]).sort((a, b) => b.duration - a.duration)
}

/** The time of all queries: more were sent than are recorded, where some are only counted. */
function timeText ({ count, duration, queries }: Data): string {
  const time = formatTime(duration)
  if (Number(count) > listOf(queries).length) return `at least ${time}`
  return time
}

function sentence (data: Data, profile: Pick<Profile, 'duration' | 'kind'>): string {
  const { count, duration, failed, queries } = data
  const sent = formatCount(Number(count), 'query', 'queries')
  const late = recorded(queries).filter(({ start }) => start > profile.duration).length
  let time = timeText(data)
  // Those at the same time may take longer than the request.
  const isLonger = Number(duration) > profile.duration
  if (late === 0 && !isLonger) time += ` of ${formatTime(profile.duration)}`
  const after = afterTitle(profile).toLowerCase()
  const facts = [sent, time, late > 0 && `${late} ${after}`, Number(failed) > 0 && `${String(failed)} failed`]
  return presentItems(facts).join(', ')
}

function entryOf (query: RecordedQuery, i: number, profile: Profile): TimelineEntry {
  const { statement, start, duration, error } = query
  const link = addressOf('queries', `query-${i + 1}`)
  const span = listOf(dataOf(profile, 'spans').spans).find(({ shownAs }) => shownAs === link)
  return {
    color: 'query',
    legend: 'query',
    name: oneLine(statement, MAX_NAME),
    group: oneLine(query.shape, MAX_NAME),
    start,
    duration,
    failed: error !== undefined,
    detail: `${oneLine(runnableText(query))} · ${resultText(query)} · ${queryPlace(query)}`,
    link,
    source: query.source,
    id: span?.spanId,
    parentId: span?.parentId,
    hook: query.hook
  }
}

function oneLine (statement: string, limit = MAX_STATEMENT): string {
  return cutText(statement.replace(/\s+/g, ' ').trim(), limit)
}

function resultText ({ duration, rows, error }: RecordedQuery): string {
  const time = duration === null ? 'not ended' : formatTime(duration)
  if (error !== undefined) return `failed: ${error.message}, ${time}`
  if (rows === null) return time
  return `${formatCount(rows, 'row')}, ${time}`
}

/** Queries of one shape, with their rows; a single one with its values. */
function groupText ({ count, duration, system, shape, sources, kind }: QueryGroup, all: RecordedQuery[]): string {
  const sent = all.filter((query) => query.system === system && query.shape === shape)
  const [first] = sent
  const hasRows = sent.length === count && sent.every(({ rows }) => rows !== null)
  const rows = hasRows && formatCount(sent.reduce((sum, { rows }) => sum + Number(rows), 0), 'row')
  const places = sources.map((source) => queryPlace({ source }))
  if (sources.length === 0) places.push(...new Set(presentItems(sent.map(({ sender }) => sender))))
  const facts = presentItems([rows, formatTime(duration), kind, ...places])
  const text = count === 1 && first !== undefined ? runnableText(first) : shape
  return `${count} × ${oneLine(text)} (${facts.join(', ')})`
}

/** The query that failed last, with the place of its error, and the last queries before a failure. */
function failureHints (data: Data): Hint[] {
  const failed = failedQueries(data).at(-1)
  const hints = presentItems([failed && failedQuery(failed)])
  const others = recorded(data.queries).filter((query) => query !== failed)
  if (others.length === 0) return hints
  const steps = others.slice(-LAST_QUERIES).map((query) => {
    const { source } = query
    const place = source !== null && { source: lineOf(source) }
    return { code: oneLine(runnableText(query)), text: resultText(query), ...place }
  })
  const other = failed === undefined ? '' : 'other '
  let text = `${formatCount(others.length, `${other}query was`, `${other}queries were`)} sent.`
  if (steps.length < others.length) text = `The last ${LAST_QUERIES} of ${others.length} ${other}queries.`
  return [...hints, { title: 'Queries before the failure', text, steps, isBackground: true }]
}

function failedQuery (query: Failed): Hint {
  const { error: { message, detail, hint, position }, source } = query
  const written = runnableText(query)
  // A statement over several lines is indented with the code around it.
  const [start = '', indent = ''] = /^\s*\n([ \t]*)/.exec(written) ?? []
  const unindented = (text: string): string => text.slice(start.length).replaceAll(`\n${indent}`, '\n')
  const at = markOf(query, position)
  const mark = at !== undefined && { mark: unindented(written.slice(0, at)).length }
  return {
    title: 'A query failed',
    text: [message, detail, hint].filter((text) => text !== undefined).map((text) => String(text).replace(/\.?$/, '.'))
      .join(' '),
    code: unindented(written).trimEnd(),
    language: 'sql',
    ...mark,
    ...source !== null && { source: lineOf(source) }
  }
}

/** The names by which the queries of a profile are compared with those of another one. */
function namesOfQueries (profile: Profile, other: Profile): string[] {
  const [all, others] = [profile, other].map((one) => recorded(dataOf(one, 'queries').queries))
  return comparedNames('query', all ?? [], others ?? [])
}

/** How many queries of each name there were: parameters differ each time. */
function countsByName (data: Data, profile: Profile, other: Profile): Record<string, string> {
  const names = namesOfQueries(profile, other)
  const left = namesNotReached(profile, names, other, namesOfQueries(other, profile))
  const counts = new Map<string, { shape: string, count: number }>()
  for (const { shape, count } of groupsOf(data)) {
    const name = names[recorded(data.queries).findIndex((query) => query.shape === shape)] ?? shape
    if (!left.has(name)) counts.set(name, { shape, count: count + (counts.get(name)?.count ?? 0) })
  }
  return Object.fromEntries([...counts].map(([name, { shape, count }]) => {
    // The quotes separate the last word from the names of values that always differ, such as `time`.
    const quoted = `\`${shape}\``
    if (name === shape) return [`query ${quoted}`, formatCount(count, 'time')]
    return [name, `${quoted} ${formatCount(count, 'time')}`]
  }))
}

function timesOfQueries (data: Data, profile: Profile, other = profile): PartTime[] {
  const names = namesOfQueries(profile, other)
  return groupsOf(data).map(({ system, shape, duration, count }) => {
    const all = recorded(data.queries)
    const isAlike = (query: RecordedQuery): boolean => query.system === system && query.shape === shape
    const alike = all.filter(isAlike)
    const name = names[all.findIndex(isAlike)] ?? shape
    return {
      name: name === shape ? `${system}: ${shortShape(shape)}` : name,
      time: alike.length < count ? duration : timeOf(alike, profile.duration),
      count
    }
  })
}
