import { firstAppFrame, mainCause, type FlattenedException } from '../../errors/exception.js'
import { placeOf, shortFile } from '../../errors/stack-frame.js'
import { STATUS_CODES } from '../../http/node-http.js'
import {
  cutText, escapeMarkdown, formatCount, html, oneLine, presentItems, visibleLine, type HtmlValue, type SafeHtml
} from '../../view/text.js'
import {
  leadText, formatTime, noteText, pendingTime, titledSection, statusBadge, withCode
} from '../../view/components.js'
import { eventName } from '../events/index.js'
import { otherChains } from '../exceptions/index.js'
import { hookTitle, type ListenerEvent } from '../../recording/events.js'
import { isFailure, isFollow, isSuccess, type Profile, type ProfileSummary } from '../../store/profile.js'
import {
  dataOf, findingOf, lineOf, listOf, resultsOf, sentencesOf, timelineOf, unexpectedIn, type Span
} from '../read.js'
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
      const sentences = sentencesOf(view.parts, profile)
      // The line above the panels has the status and the time.
      const isPlain = isSuccess(profile) && profile.status > 0 && endingEvent(profile) === undefined
      const finding = findingOf(view.parts, profile)
      const outcome = outcomeSentence(profile)
      let lead: SafeHtml
      if (finding !== undefined) {
        if (!isPlain) sentences.unshift(outcome)
        lead = html`<p class="lead warn">${withCode(withLateWork(finding, profile), view.editor)}</p>`
      } else {
        const sentence = isPlain ? sentences.shift() ?? outcome : outcome
        lead = leadText(withLateWork(sentence, profile), moodOf(profile), view.editor)
      }
      sentences.push(...unexpectedIn(view.parts, profile))
      return html`${lead}\
${sentences.map((text) => html`<p>${withCode(text, view.editor)}</p>`)}\
<div class="overview"><div>${sections('main')}</div>\
<div><dl class="facts-list">${facts}</dl>${sections('side')}</div></div>\
${view.differences}${relatedRequests(profile, view)}`
    }
  },
  overview: (_, profile, { parts }) => [
    { order: 10, title: 'Slowest part', value: slowestPart(parts, profile) }
  ],
  markdown (_, profile) {
    const sentence = withLateWork(outcomeSentence(profile), profile)
    return [{ order: 0, title: 'What happened', blocks: [escapeMarkdown(sentence)] }]
  }
}

/** A sentence with the number of what came after the response. */
function withLateWork (sentence: string, profile: Profile): string {
  const countOf = (list: unknown): number => listOf(list).filter(({ start }) => Number(start) > profile.duration).length
  const counts = [
    [Number(dataOf(profile, 'exceptions').late ?? 0), 'error', 'errors'],
    [countOf(dataOf(profile, 'queries').queries), 'query', 'queries'],
    [countOf(dataOf(profile, 'http-client').calls), 'call', 'calls']
  ] as const
  const facts = counts.flatMap(([count, one, many]) => count === 0 ? [] : [formatCount(count, one, many)])
  if (facts.length === 0) return sentence
  return `${sentence} After the response: ${facts.join(', ')}.`
}

function moodOf (profile: Profile): 'good' | 'bad' | 'plain' | 'warn' {
  if (isFailure(profile)) return 'bad'
  if (isSuccess(profile) && profile.status > 0) return 'good'
  return 'plain'
}

/** What happened to a request, in sentences that state recorded facts only. */
export function outcomeSentence (profile: Profile): string {
  const { method, status, exceptions, duration } = profile
  if (status === 0 || status === 499) return unsentSentence(profile)
  const { summary } = dataOf(profile, 'exceptions')
  const ended = endingEvent(profile)
  let by = senderOf(profile, ended)
  if (typeof summary === 'string') by = ` ${visibleLine(cutText(summary, MAX_SUMMARY))}`
  else if (ended?.outcome === 'raised') by = ` The ${endingName(ended)} raised an error.`
  const last = exceptions.at(-1)
  const cause = mainCause(profile)
  const outcome = `${method} returned ${`${status} ${STATUS_CODES[status] ?? ''}`.trim()} in ${formatTime(duration)}`
  if (last === undefined || cause === null) return `${outcome}.${by}`
  const [root = last] = exceptions
  let errors = errorText({ ...last, message: cause.message })
  if (root !== last) errors = `${errorText(last)} Its root cause is ${errorText(root)}`
  if (last.logged !== undefined) return `${outcome}. ${last.logged} ${errors}${by}`
  const repeated = repeatedResponse(profile)
  if (last.code === REPEATED || last.code === LOST) return `${outcome}.${repeated}${by}`
  if (status >= 400) return errors + by + repeated
  // The error came after the response, or the application has handled it.
  if (typeof summary === 'string') return `${outcome}.${by.slice(0, -1)}: ${errors}${repeated}`
  return `${outcome}, and an error was recorded: ${errors}${by}${repeated}`
}

/** Why the client received no response, and the first error of the application. */
function unsentSentence (profile: Profile): string {
  const { status, exceptions, duration } = profile
  const { summary } = dataOf(profile, 'exceptions')
  let sentence = `The response had not ended after ${formatTime(duration)}.`
  if (typeof summary === 'string') sentence = `The application sent no response in ${formatTime(duration)}. ${summary}`
  if (status === 499) sentence = `The client closed the connection after ${formatTime(duration)}, before the response.`
  const error = exceptions.find(({ code }) => code?.startsWith('HINDSIGHT_') !== true)
  if (error === undefined) return sentence
  return `${sentence} An error was recorded: ${errorText(error)}`
}

/** The hook that answered, and the line that sent a status of 400 or more. */
function senderOf (profile: Profile, hook: ListenerEvent | undefined): string {
  const { sentBy } = dataOf(profile, 'response')
  const place = typeof sentBy === 'string' && profile.status >= 400 && shortFile(lineOf(sentBy))
  if (hook !== undefined) {
    const sentence = `The ${endingName(hook)} sent the response`
    return ` ${presentItems([sentence, place !== false && `(${place})`]).join(' ')}.`
  }
  if (place === false) return ''
  return ` ${place} sent the response.`
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

/** The requests that caused this one, or were caused by it. */
function relatedRequests (profile: Profile, { base = '', ...view }: PanelView): HtmlValue {
  const { token, parent, followOf, replayOf } = profile
  const { children = [] } = view
  const list = (summaries: readonly ProfileSummary[]): SafeHtml =>
    html`<ul class="relatives">${summaries.map(({ token, status, method, url, duration }) =>
      html`<li><a href="${base}/${token}">${token}</a> ${statusBadge(status)} \
${method} <span class="url">${visibleLine(url)}</span> ${formatTime(duration)}</li>`)}</ul>`
  const follows = children.filter(isFollow)
  const subRequests = children.filter((child) => !isFollow(child))
  return [
    parent !== undefined && titledSection(followOf === undefined ? 'Parent request' : 'Redirected from',
      view.parent == null ? noteText(`Profile ${parent} is not stored any more.`) : list([view.parent])),
    replayOf !== undefined && titledSection('Replay',
      html`<p>This request replays <a href="${base}/${replayOf}">${replayOf}</a>: \
<a href="${base}/${replayOf}/compare/${token}">differences</a></p>`),
    follows.length > 0 && titledSection('Redirected to', list(follows)),
    subRequests.length > 0 && titledSection('Sub-requests',
      [list(subRequests), html`<p><a href="${base}/search?parent=${token}">All requests of this parent</a></p>`])
  ]
}
