import type { Profile } from '../../store/profile.js'
import {
  countedLabel, entryRow, entryTable, foldedContent, jsonBlock, noteText, placeElement, statusBadge, withPlaces
} from '../../view/components.js'
import {
  formatCount, cutText, html, oneLine, presentItems, safeJson, type HtmlValue, type SafeHtml
} from '../../view/text.js'
import type { EditorLink } from '../../view/editor.js'
import {
  addressOf, dataOf, firstOf, groupedBy, isObject, lineOf, listOf, numberOf, splitUrl, timeOf, withLate, type Data
} from '../read.js'
import { NUMBER_COMPARISON, type Part, type PartTime, type TimelineEntry } from '../part.js'
import { comparedNames, namesNotReached } from '../pairing.js'
import type { Values } from '../section.js'
import type { Called } from './called.js'
import { callGroups, callsInTransactions, callShape, isFailed, problemOf, sentenceOf } from './groups.js'
import { linkCalled } from './link-called.js'
import { mediaType, suspectCalls } from './suspects.js'
import { BODIES_OFF, callLog } from './outgoing.js'

export const httpClient: Part<Data> = {
  ...callLog,
  from: 'upstream',
  made: linkCalled,
  async expand (data, { called }, services) {
    if (called === undefined) return undefined
    const { withCalled } = await import('./called.js')
    return await withCalled(data, Number(called), services)
  },
  complete (data, late) {
    const known = listOf(data.calls)
    const { all } = withLate(known, listOf(late.calls))
    const replaced = known.length + listOf(late.calls).length - all.length
    return { count: Number(data.count ?? 0) + Number(late.count) - replaced, calls: all }
  },
  panel: {
    label: 'Calls',
    group: 'calls',
    problem: ({ calls }) => failedCalls(calls).length,
    warnings: (data, profile) => problemsOf(data, profile).length,
    render (data, profile, { editor, debug }) {
      const problems = problemsOf(data, profile).map((text) => html`<li>${withPlaces(text, editor)}</li>`)
      const rows = listOf(data.calls).map((call, i) => callRow(call, i, profile.duration, editor, debug))
      return [
        problems.length > 0 && html`<ul class="findings">${problems}</ul>`,
        groupSentences(data, profile).map((text) => html`<p class="note">${withPlaces(text, editor)}</p>`),
        entryTable('Requests', 'Status', rows, data.count),
        bodyNotes(data).map(noteText)
      ]
    }
  },
  issue (data, profile) {
    const [failed] = failedCalls(data.calls)
    if (failed === undefined) return firstOf(problemsOf(data, profile))
    return `${nameOf(failed)}: ${resultOf(failed)}`
  },
  findings: (data, profile) => problemsOf(data, profile).map((text) => ({ text, order: 30 })),
  search: {
    calls: {
      valueOf: ({ count }) => count,
      pattern: NUMBER_COMPARISON,
      problem: 'not a number of calls such as >5',
      help: 'number of outgoing calls, such as >5',
      column: 'Calls'
    }
  },
  markdown ({ calls }, { route }) {
    const text = callGroups(listOf(calls), route).map(sentenceOf).join('\n')
    if (text === '') return []
    return [{ order: 26, title: 'Outgoing calls', text }]
  },
  timeline: ({ calls }, profile) =>
    listOf(calls).flatMap((call, i) => [entryOf(call, i, profile), ...entriesOfCalled(call, i)]),
  overview (data, profile, { editor }) {
    const { count, calls } = data
    const failed = failedCalls(calls).length
    const text = presentItems([formatCount(Number(count), 'call'), failed > 0 && `${failed} failed`]).join(', ')
    const failures = suspectCalls(listOf(calls), profile).flatMap(({ title, calls }) => {
      const equal = groupedBy(calls, (call) => `${nameOf(call)} ${resultOf(call)} ${String(call.source)}`)
      return [...equal.values()].slice(0, MAX_SHOWN).map(([call = {}, ...others]) =>
        html`<div class="failure">${!isFailed(call) && `${title}: `}\
${others.length > 0 && `${others.length + 1} × `}\
${cutText(nameOf(call), MAX_URL)}: ${answerOf(call)}${linksOf(call, editor)}</div>`)
    })
    const groups = [...problemsOf(data, profile), ...groupSentences(data, profile)].slice(0, MAX_SHOWN)
      .map((text) => html`<div>${withPlaces(text, editor)}</div>`)
    const value = html`<a href="${addressOf('http-client')}">${text}</a>${failures}${groups}`
    return [{ order: 40, title: 'Calls', value: typeof count === 'number' && value }]
  },
  toolbar (data) {
    const [count, failed] = [numberOf(data.count) ?? 0, failedCalls(data.calls).length]
    return {
      order: 60,
      className: failed > 0 ? 'calls bad' : 'calls',
      title: 'Outgoing calls',
      head: count > 0 && countedLabel(count, 'call'),
      facts: { 'Outgoing calls': count, Failed: failed },
      values: { calls: { count, failed } }
    }
  },
  toolbarStyle: '.calls { --icon: "M4 0h10v10h-2V4l-9 9-2-2 9-9H4z" }\n' +
    '@media (max-width: 640px) { .calls { display: none } }\n',
  hints: ({ calls }, failure) => suspectCalls(listOf(calls), failure).map(({ title, calls }) => {
    const steps = calls.slice(0, MAX_HINTED).map((call) => {
      const { source } = call
      const profile = calledProfile(call)
      return {
        code: cutText(nameOf(call), MAX_TEXT),
        text: answerOf(call),
        ...(typeof source === 'string' && { source: lineOf(source) }),
        ...(profile !== undefined && { profile })
      }
    })
    return { title, text: '', order: 30, steps }
  }),
  comparison: [{ values: resultsOfCalls }],
  times: timesOfCalls,
  differences: [{ order: 20, absent: 'not sent', values: resultsOfCalls }],
  style: '.bar-call { fill: light-dark(#b0467a, #f098c2) }\n'
}

/** Of the overview; characters of their URLs. */
const MAX_SHOWN = 2
const MAX_URL = 100
/** Of the hint; characters of a text of it. */
const MAX_HINTED = 5
const MAX_TEXT = 300

function problemsOf ({ calls }: Data, profile: Pick<Profile, 'collectors' | 'route' | 'duration'>): string[] {
  const problems = callGroups(listOf(calls), profile.route).map(problemOf).filter((problem) => problem !== null)
  return [...problems, ...callsInTransactions(listOf(calls), profile)]
}

/** The sentences about equal calls that are no problem. */
function groupSentences ({ calls }: Data, { route }: Pick<Profile, 'route'>): string[] {
  return callGroups(listOf(calls), route)
    .filter((group) => group.count > 1 && problemOf(group) === null).map(sentenceOf)
}

function failedCalls (calls: unknown): Data[] {
  return listOf(calls).filter(isFailed)
}

function nameOf ({ method, url }: Data): string {
  return `${String(method)} ${String(url)}`
}

/** The error of a call, or its status with the JSON or the media type of its response. */
function resultOf ({ status, error, responseHeaders, responseBody }: Data): string {
  const answer = isObject(responseBody) ? safeJson(responseBody) : mediaType(responseHeaders)
  return oneLine(cutText(String(error ?? [status, answer].filter(Boolean).join(' ')), MAX_TEXT))
}

/** Why bodies of responses are missing, one sentence for each reason. */
function bodyNotes ({ calls }: Data): string[] {
  const missing = listOf(calls).filter(({ bodyNote }) => typeof bodyNote === 'string')
  return [...groupedBy(missing, ({ bodyNote }) => String(bodyNote))]
    .map(([reason, { length }]) => `${formatCount(length, 'response')} without a body here: ${reason}.`)
}

/** The result, and why the body is missing where the application cannot change that by an option. */
function answerOf (call: Data): string {
  const { bodyNote } = call
  if (typeof bodyNote !== 'string' || bodyNote === BODIES_OFF) return resultOf(call)
  return `${resultOf(call)}, no body: ${bodyNote}`
}

/** The address of the profile of the called server. A store may have any text. */
function calledProfile ({ profile }: Data): string | undefined {
  if (typeof profile !== 'string' || !/^https?:\/\//.test(profile)) return undefined
  return profile
}

/** The line that sent a call, and the profile of the called server. */
function linksOf (call: Data, editor: EditorLink | null, expand?: HtmlValue): HtmlValue {
  const { source } = call
  const address = calledProfile(call)
  return [
    typeof source === 'string' && html`<div>from ${placeElement(lineOf(source), editor)}</div>`,
    address !== undefined && html`<div><a href="${address}">Its profile</a>${expand}</div>`
  ]
}

function callRow (
  call: Data, i: number, total: number, editor: EditorLink | null, isDebug = false
): SafeHtml {
  const expand = html` <a href="${addressOf('timeline')}&called=${i + 1}">What it did</a>`
  const body = (label: string, content: unknown): HtmlValue =>
    content !== undefined && foldedContent(label, jsonBlock(content))
  const details = [
    linksOf(call, editor, isDebug && expand),
    foldedContent('Headers', jsonBlock({ request: call.requestHeaders, response: call.responseHeaders })),
    body('Request body', call.requestBody),
    body('Response body', call.responseBody)
  ]
  return entryRow(`call-${i + 1}`, nameOf(call), call, badgeOf(call), details,
    { isFailed: isFailed(call), total, color: 'call' })
}

function badgeOf ({ status, error }: Data): SafeHtml {
  if (typeof status === 'number') return statusBadge(status)
  return html`<span class="none">${error === undefined ? 'pending' : 'none'}</span>`
}

/** The entries of a called server, in the middle of its call: clocks of two processes may differ. */
function entriesOfCalled (call: Data, i: number): TimelineEntry[] {
  const { problem, duration = 0, entries = [] } = (call.called ?? {}) as Called
  const failure = { name: 'The profile was not received', detail: problem ?? '', start: 0, duration: 0, failed: true }
  const shown = problem === undefined ? entries : [failure]
  const begin = Number(call.start) + Math.max(0, Number(call.duration) - duration) / 2
  const link = calledProfile(call) ?? addressOf('http-client')
  // Numbers of events are those of the called server.
  return shown.map((entry) => ({
    ...entry, start: begin + entry.start, link, id: undefined, hook: null, parentId: `call-${i + 1}`
  }))
}

function entryOf (call: Data, i: number, profile: Profile): TimelineEntry {
  const { status, start, duration, error } = call
  const url = String(call.url)
  const { host, pathname } = serverOf(url)
  const isOther = host !== '' && host !== serverOf(profile.url).host
  return {
    id: `call-${i + 1}`,
    color: 'call',
    legend: 'outgoing HTTP call',
    name: presentItems([`${String(call.method)} ${pathname}`, isOther && host]).join(' · '),
    group: callShape(call, profile.route).replace(/ https?:\/\//, ' '),
    start: Number(start),
    duration: numberOf(duration),
    hook: numberOf(call.hook),
    failed: isFailed(call),
    detail: `${url}: ${String(error ?? status ?? 'no response yet')}`,
    link: addressOf('http-client', `call-${i + 1}`),
    ...typeof call.source === 'string' && { source: call.source }
  }
}

function serverOf (url: string): Pick<URL, 'host' | 'pathname'> {
  if (!URL.canParse(url)) return { host: '', pathname: url }
  return new URL(url)
}

/** The calls of a profile with the names by which they are compared with those of another one. */
function namedCalls (profile: Profile, other: Profile): Array<{ name: string, shape: string, call: Data }> {
  const [all, others] = [profile, other].map((one) => listOf(dataOf(one, 'http-client').calls)
    .map((call) => ({ call, shape: callShape(call, one.route), source: call.source })))
  const names = comparedNames('call', all ?? [], others ?? [])
  return (all ?? []).map(({ call, shape }, i) => ({ call, shape, name: names[i] ?? shape }))
}

/** The statuses and errors of the calls of each name. */
function resultsOfCalls (_: Data, profile: Profile, other: Profile): Values {
  const calls = namedCalls(profile, other)
  const others = namedCalls(other, profile)
  const left = namesNotReached(profile, calls.map(({ name }) => name), other, others.map(({ name }) => name))
  const groups = groupedBy(calls.filter(({ name }) => !left.has(name)), ({ name }) => name)
  return Object.fromEntries([...groups].map(([name, group]) => {
    const results = resultsText(group)
    const shape = group[0]?.shape
    if (name !== shape) return [`outgoing ${name}`, `${shape}: ${results}`]
    const there = others.filter((one) => one.name === name)
    const paths = new Set([...group, ...there].map(({ call }) => pathOf(call)))
    // The path that was sent, where identifiers may be the reason of another result.
    const isOther = paths.size > 1 && group.length === 1 && there.length > 0 && resultsText(there) !== results
    return [`outgoing ${name}`, isOther ? `${results} (${[...paths][0]})` : results]
  }))
}

function resultsText (group: ReturnType<typeof namedCalls>): string {
  return group.map(({ call }) => shortResult(call)).join(', ')
}

function pathOf ({ url }: Data): string {
  return splitUrl(String(url)).path
}

function shortResult ({ error, status }: Data): string {
  if (error === undefined) return String(status ?? 'pending')
  return String(error) || 'failed'
}

function timesOfCalls (_: Data, profile: Profile, other = profile): PartTime[] {
  const groups = groupedBy(namedCalls(profile, other), ({ name }) => name)
  return [...groups].map(([name, group]) => {
    const calls = group.map(({ call }) => call as Data & { start: number, duration: number | null })
    return { name, time: timeOf(calls, profile.duration), count: calls.length }
  })
}
