import { renderExcerpt } from '../../error-page/exceptions.js'
import {
  firstAppFrame, functionOf, mainCause, type FlattenedException, type StackFrame
} from '../../errors/exception.js'
import { placeOf, shortFile } from '../../errors/stack-frame.js'
import { STATUS_CODES } from '../../http/node-http.js'
import {
  cutText, escapeMarkdown, formatCount, html, oneLine, presentItems, visibleLine, type HtmlValue, type SafeHtml
} from '../../view/text.js'
import {
  formatTime, noteText, pendingTime, titledSection, statusBadge, withCode
} from '../../view/components.js'
import { isErrorOrWorse } from '../../logs/log-record.js'
import { eventName } from '../events/index.js'
import { otherChains } from '../exceptions/index.js'
import { isFailed } from '../http-client/groups.js'
import { hookTitle, type ListenerEvent } from '../../recording/events.js'
import {
  cutOffStatus, isFailure, isFollow, isJob, isSuccess, shownOutcome, type Profile, type ProfileSummary
} from '../../store/profile.js'
import {
  addressOf, afterTitle, dataOf, findingOf, isObject, lineOf, listOf, notesIn, resultsOf, sentencesOf, timelineOf,
  unexpectedIn, type Data, type Span
} from '../read.js'
import { waitingSentences, type Waiting } from '../waiting/collector.js'
import type { OverviewTile, PanelView, Part } from '../part.js'

/** The code of the error of a second response. */
const REPEATED = 'FST_ERR_REP_ALREADY_SENT'
/** That of the error of a response whose place another one has taken: its message says what the client received. */
const LOST = 'HINDSIGHT_LOST_RESPONSE'
const MAX_MESSAGE = 500
const MAX_SUMMARY = 2_000
/** Of the duration of the request: where no part has it, the time went elsewhere. */
const MIN_SHARE = 0.1

/** The main facts of a request. The other panels have the details. */
export const overview: Part = {
  name: 'overview',
  panel: {
    label: 'Overview',
    group: 'overview',
    always: true,
    render: (_, profile, view) => {
      const tiles = resultsOf(view.parts, profile, (part, data) => part.overview?.(data, profile, view))
        .map(({ title, column, value }) => ({ title: String(title), column, markup: html`${value}` }))
        .filter(({ markup }) => String(markup) !== '')
      const facts = tiles.filter(({ column }) => column === undefined)
        .map(({ title, markup }) => html`<dt>${title}</dt><dd>${markup}</dd>`)
      const sections = (name: OverviewTile['column']): SafeHtml[] => tiles.filter(({ column }) => column === name)
        .map(({ title, markup }) => title === '' ? markup : titledSection(title, markup))
      const { mood, sentence, others, late, isLateFirst } = leadOf(profile, view.parts)
      const lateLinks = late.length > 0 && html`${afterTitle(profile)}: ${late.map(({ panel, text }, i) =>
        html`${i > 0 && ', '}<a href="${addressOf(panel)}">${text}</a>`)}.`
      const first = withCode(sentence, view.editor)
      const lead = presentItems(isLateFirst ? [lateLinks, first] : [first, lateLinks])
      return html`<p class="lead ${mood}">${lead.map((text, i) => [i > 0 && ' ', text])}</p>\
${others.map((text) => html`<p>${withCode(text, view.editor)}</p>`)}\
<div class="metrics">${sections('top')}</div>\
<div class="overview"><div>${sections('main')}</div>\
<div><dl class="facts-list">${facts}</dl>${sections('side')}</div></div>\
${view.differences}${relatedRequests(profile, view)}`
    }
  },
  overview: (_, profile, { parts }) => [
    ...refusalTile(profile),
    { order: 10, title: 'Slowest part', value: slowestPart(parts, profile) }
  ],
  markdown (_, profile, parts) {
    const lead = leadOf(profile, parts)
    const sentences = [leadParagraph(profile, lead), ...lead.others]
    return [{ order: 0, title: 'What happened', blocks: sentences.map(escapeMarkdown) }]
  }
}

interface LateWork { panel: string, text: string, isBad: boolean }

interface Lead {
  mood: ReturnType<typeof moodOf>
  sentence: string
  /** Those below. */
  others: string[]
  late: LateWork[]
  /** Whether what came after the response is worse than the sentence. */
  isLateFirst: boolean
}

/** The sentences about a profile for all that show them, first the one that says most. */
export function leadOf (profile: Profile, parts: readonly Part[]): Lead {
  const [outcome, finding, late] = [outcomeSentence(profile), findingOf(parts, profile), lateWork(profile)]
  const facts = unexpectedIn(parts, profile)
  // The line above the panels has the status and the time.
  const hasOutcome = hasSucceeded(profile) && endingEvent(profile) === undefined
  const isLateFirst = hasOutcome && finding === undefined && late.some(({ isBad }) => isBad)
  let mood = moodOf(profile)
  let first: Array<string | false | undefined> = []
  if (isUnanswered(profile)) {
    // What it waits for is the question, and no finding.
    first = [outcome, finding]
  } else if (finding !== undefined) {
    first = [finding, !hasOutcome && outcome]
    mood = 'warn'
  } else if (!hasOutcome) first = [outcome]
  else if (isLateFirst || facts.length > 0) mood = 'warn'
  const [sentence = outcome, ...others] = [...presentItems(first), ...facts, ...sentencesOf(parts, profile)]
  return { mood, sentence, others: [...others, ...notesIn(parts, profile)], late, isLateFirst }
}

/** The first paragraph about a profile as text. */
export function leadParagraph (profile: Profile, { sentence, late, isLateFirst }: Lead): string {
  if (late.length === 0) return sentence
  const after = `${afterTitle(profile)}: ${late.map(({ text }) => text).join(', ')}.`
  return isLateFirst ? `${after} ${sentence}` : `${sentence} ${after}`
}

/** Whether a job had not ended, or a request had no response when it was stored or its client left. */
function isUnanswered ({ kind, status, outcome }: Profile): boolean {
  if (kind !== undefined) return outcome === 'running'
  return status === 0 || status === 499
}

/** The source around the line that has sent a refusal. */
function refusalTile (profile: Profile): OverviewTile[] {
  const { sentFrom } = dataOf(profile, 'response')
  if (!isObject(sentFrom) || isFailure(profile)) return []
  const frame = sentFrom as unknown as StackFrame
  const title = `Sent by ${presentItems([functionOf(frame) || undefined, placeOf(frame)]).join(', ')}`
  return [{ order: 10, title, column: 'main', value: html`<div class="declared">${renderExcerpt(frame)}</div>` }]
}

/** What came after the response, or the end of a job, the worst first, with the panels that show it. */
function lateWork (profile: Profile): LateWork[] {
  const lateOf = (list: unknown): Data[] =>
    listOf(list).filter(({ start, offset = start }) => Number(offset) > profile.duration)
  const [queries, calls] = [lateOf(dataOf(profile, 'queries').queries), lateOf(dataOf(profile, 'http-client').calls)]
  const logged = lateOf(profile.logs.filter(isErrorOrWorse))
  const [failedQueries, failedCalls] = [queries.filter(isFailed).length, calls.filter(isFailed).length]
  const all = [
    ['exceptions', true, Number(dataOf(profile, 'exceptions').late ?? 0), 'error', 'errors'],
    ['logs', true, logged.length, 'error in the log', 'errors in the log'],
    ['queries', true, failedQueries, 'failed query', 'failed queries'],
    ['http-client', true, failedCalls, 'failed call', 'failed calls'],
    ['queries', false, queries.length - failedQueries, 'query', 'queries'],
    ['http-client', false, calls.length - failedCalls, 'call', 'calls']
  ] as const
  return all.filter(([, , count]) => count > 0)
    .map(([panel, isBad, count, one, many]) => ({ panel, text: formatCount(count, one, many), isBad }))
}

function moodOf (profile: Profile): 'good' | 'bad' | 'plain' | 'warn' {
  if (isFailure(profile)) return 'bad'
  return hasSucceeded(profile) ? 'good' : 'plain'
}

function hasSucceeded (profile: Profile): boolean {
  return isSuccess(profile) && cutOffStatus(profile) === undefined && (profile.status > 0 || profile.outcome === 'done')
}

/** What happened to a request, in sentences that state recorded facts only. */
export function outcomeSentence (profile: Profile): string {
  const { method, status, exceptions, duration } = profile
  if (profile.kind !== undefined) return jobSentence(profile)
  if (status === 0 || status === 499) return unsentSentence(profile)
  const { summary } = dataOf(profile, 'exceptions')
  const ended = endingEvent(profile)
  let by = senderOf(profile, ended)
  if (typeof summary === 'string') by = ` ${visibleLine(cutText(summary, MAX_SUMMARY))}`
  else if (ended?.outcome === 'raised') by = ` The ${endingName(ended)} raised an error.`
  const last = exceptions.at(-1)
  const cause = mainCause(profile)
  const code = `${status} ${STATUS_CODES[status] ?? ''}`.trim()
  const outcome = `${method} returned ${code} in ${formatTime(duration)}`
  if (last === undefined || cause === null) return `${outcome}.${callText(profile)}${by}`
  const [root = last] = exceptions
  const errors = root === last ? errorText({ ...last, message: cause.message }) : chainText(root, last)
  if (last.logged !== undefined) return `${outcome}. ${last.logged} ${errors}${by}`
  const repeated = repeatedResponse(profile)
  if (last.code === REPEATED || last.code === LOST) return `${outcome}.${repeated}${by}`
  if (status >= 400) return errors + by + repeated
  // The error came after the response, or the application has handled it.
  if (typeof summary === 'string') {
    return `${by.trim().slice(0, -1)}: ${errors} The status ${code} had been sent before.${repeated}`
  }
  return `${outcome}, and an error was recorded: ${errors}${by}${repeated}`
}

/** What a request or a job has begun that has not ended: what it waits for, where that is known. */
function waitingText (profile: Profile): string {
  const all = listOf(dataOf(profile, 'waiting').for)
  // The request may not wait for a query or a call that has not ended.
  const shown = all.find(({ kind }) => kind === 'await' || kind === 'promise') ?? all[0]
  if (shown === undefined) return ''
  const waiting = { in: null, for: [shown], traced: false } as unknown as Waiting
  return ` ${waitingSentences(waiting, profile.duration).join('')}`
}

function jobSentence (profile: Profile): string {
  const { kind, name, outcome, attempt, queued, duration, exceptions } = profile
  const what = `The ${kind} ${visibleLine(String(name))}`
  const waited = queued === undefined ? '' : ` It had waited for ${formatTime(queued)} in its queue.`
  if (outcome === 'running') {
    return `${what} had not ended after ${formatTime(duration)}.${waitingText(profile)}${waited}`
  }
  const [root] = exceptions
  const last = exceptions.at(-1)
  const ended = `${what} ended in ${formatTime(duration)}`
  if (root === undefined || last === undefined) return `${ended}.${waited}`
  const errors = chainText(root, last)
  if (outcome !== 'failed') return `${ended}, and an error was recorded: ${errors}${waited}`
  const again = attempt === undefined ? '' : ` in attempt ${attempt}`
  return `${errors} ${what} failed${again} after ${formatTime(duration)}.${waited}`
}

/** Why the client received no response, and the first error of the application. */
function unsentSentence (profile: Profile): string {
  const { status, exceptions, duration } = profile
  const { summary } = dataOf(profile, 'exceptions')
  let sentence = `The response had not ended after ${formatTime(duration)}.${waitingText(profile)}`
  if (typeof summary === 'string') sentence = `The application sent no response in ${formatTime(duration)}. ${summary}`
  if (status === 499) sentence = `The client closed the connection after ${formatTime(duration)}, before the response.`
  const error = exceptions.find(({ code }) => code?.startsWith('HINDSIGHT_') !== true)
  if (error === undefined) return sentence
  return `${sentence} An error was recorded: ${errorText(error)}`
}

/** The hook that answered, and the line that sent a status of 400 or more. */
function senderOf (profile: Profile, hook: ListenerEvent | undefined): string {
  const { sentBy, sentFrom } = dataOf(profile, 'response')
  const place = typeof sentBy === 'string' && profile.status >= 400 && shortFile(lineOf(sentBy))
  if (hook !== undefined) {
    const sentence = `The ${endingName(hook)} sent the response`
    return ` ${presentItems([sentence, place !== false && `(${place})`]).join(' ')}.`
  }
  if (place === false) return ''
  const name = isObject(sentFrom) && functionOf(sentFrom as unknown as StackFrame)
  if (name === false || name === '') return ` ${place} sent the response.`
  return ` ${name} (${place}) sent the response.`
}

/** The last call that was answered with the status of a failed response: a proxy passes it on. */
function callText (profile: Profile): string {
  const { status, duration } = profile
  const call = listOf(dataOf(profile, 'http-client').calls)
    .findLast((call) => call.status === status && Number(call.start) + Number(call.answered) <= duration)
  if (call === undefined || status < 400) return ''
  return ` ${visibleLine(cutText(`${String(call.method)} ${String(call.url)}`, MAX_MESSAGE))} had this status, too.`
}

/** Which lines sent two responses, as far as they are certain; empty where there was one. */
function repeatedResponse (profile: Profile): string {
  const all = [profile.exceptions, ...otherChains(profile)].flatMap((chain) => listOf(chain))
  const errorOf = (code: string) => all.find((one) => one.code === code) as FlattenedException | undefined
  const [lost, repeated] = [errorOf(LOST), errorOf(REPEATED)]
  if (lost !== undefined) return ` ${errorText(lost).replace(/^.*?: /, '')}`
  if (repeated === undefined) return ''
  const { sentBy, bodyNote = '' } = dataOf(profile, 'response')
  const frame = firstAppFrame([repeated])
  const second = frame === undefined ? returnedBy(repeated) : `that of ${placeOf(frame)}`
  const [, why] = /^not sent: (.* returned undefined)$/.exec(String(bodyNote)) ?? []
  if (typeof sentBy === 'string') {
    return ` The client received the response of ${shortFile(lineOf(sentBy))}, and not ${second}.`
  }
  if (why === undefined) return ` Of two responses, the client did not receive ${second}.`
  return ` The client received an empty response, as ${why}, and not ${second}.`
}

/** What sent the second response, by the function of Fastify that called `reply.send`. */
function returnedBy ({ frames }: FlattenedException): string {
  const files = listOf(frames).map(({ file }) => String(file).replace(/^.*[\\/]fastify[\\/]lib[\\/]/, ''))
  const sender = files[files.lastIndexOf('reply.js') + 1]
  if (sender === 'wrap-thenable.js') return 'what an async function returned'
  if (sender === 'handle-request.js') return 'what the handler returned or threw'
  return 'the second one'
}

/** The event that raised an error, or else the one that answered. */
function endingEvent ({ events, status }: Profile): Profile['events'][number] | undefined {
  // What these hooks raise is not what a failed response is about.
  const mayRaise = events.filter(({ stage }) => status < 400 || !/^on(?:Error|Response|Timeout)$/.test(stage))
  return mayRaise.find(({ outcome }) => outcome === 'raised') ?? events.find(({ outcome }) => outcome === 'answered')
}

function endingName (event: ListenerEvent): string {
  if (event.listener === event.stage) return eventName(event)
  return hookTitle(event)
}

/** A library may repeat the message of what it wraps. */
function chainText (root: FlattenedException, last: FlattenedException): string {
  const text = errorText(last)
  const isRepeated = root.message.trim() !== '' && root.message === last.message && firstAppFrame([root]) === undefined
  if (root === last || isRepeated) return text
  return `${text} Its root cause is ${errorText(root)}`
}

function errorText (exception: FlattenedException): string {
  const { name, code, message } = exception
  const detail = message.trim() === '' ? code : message
  const title = oneLine(presentItems([name, detail]).join(': '))
  const text = title.slice(0, MAX_MESSAGE).replace(/\.$/, '')
  const frame = firstAppFrame([exception])
  if (frame !== undefined) return `${text} (${placeOf(frame)}).`
  if (/[!?]$/.test(text)) return text
  return `${text}.`
}

// A handler waits for its outgoing calls: the slowest one is shown, too.
function slowestPart (parts: readonly Part[], profile: Profile): HtmlValue {
  const timeOf = ({ start, duration }: Span): number => Math.min(duration ?? Infinity, profile.duration - start)
  const spans = timelineOf(parts, profile)
    .filter((span) => span.ofHindsight !== true && span.duration !== 0 && timeOf(span) >= profile.duration * MIN_SHARE)
    .sort((a, b) => timeOf(b) - timeOf(a) || a.start - b.start)
  const [slowest] = spans
  if (slowest === undefined) return null
  const shown = [slowest]
  if (slowest.step === 'handler') shown.push(...spans.filter(({ step }) => step === undefined).slice(0, 1))
  return shown.map(({ name, duration, link }) => html`<div><a href="${link}">\
${visibleLine(name).slice(0, MAX_MESSAGE)}</a> <strong>${pendingTime(duration)}</strong></div>`)
}

function parentTitle ({ followOf, kind }: Profile, parent: PanelView['parent']): string {
  if (followOf !== undefined) return 'Redirected from'
  if (kind !== undefined) return 'Queued by'
  return parent != null && isJob(parent) ? 'Sent by' : 'Parent request'
}

/** The requests that caused this one, or were caused by it. */
function relatedRequests (profile: Profile, { base = '', ...view }: PanelView): HtmlValue {
  const { token, parent, replayOf } = profile
  const { children = [] } = view
  const list = (summaries: readonly ProfileSummary[]): SafeHtml =>
    html`<ul class="relatives">${summaries.map((summary) =>
      html`<li><a href="${base}/${summary.token}">${summary.token}</a> \
${statusBadge(summary.status, shownOutcome(summary), summary.error)} ${summary.method} \
<span class="url">${visibleLine(summary.url)}</span> ${formatTime(summary.duration)}</li>`)}</ul>`
  const follows = children.filter(isFollow)
  const jobs = children.filter(isJob)
  const subRequests = children.filter((child) => !isFollow(child) && !isJob(child))
  return [
    parent !== undefined && titledSection(parentTitle(profile, view.parent),
      view.parent == null ? noteText(`Profile ${parent} is not stored any more.`) : list([view.parent])),
    replayOf !== undefined && titledSection('Replay',
      html`<p>This request replays <a href="${base}/${replayOf}">${replayOf}</a>: \
<a href="${base}/${replayOf}/compare/${token}">differences</a></p>`),
    jobs.length > 0 && titledSection('Jobs', list(jobs)),
    follows.length > 0 && titledSection('Redirected to', list(follows)),
    subRequests.length > 0 && titledSection('Sub-requests',
      [list(subRequests), html`<p><a href="${base}/search?parent=${token}">All requests of this parent</a></p>`])
  ]
}
