import { STATUS_CODES } from 'node:http'
import type { FlattenedException } from '../../errors/exception.js'
import { counted, visibleLine } from '../../view/visible.js'
import { html } from '../../view/html.js'
import { lead, milliseconds, note, placeOf, section, statusBadge } from '../../view/components.js'
import { isFailure, isFollow, isSuccess, type Profile, type ProfileSummary } from '../../store/profile.js'
import { addressOf, labelOf, panelsOf, problemsOf, resultsOf, sentencesOf, timelineOf, type Span } from '../read.js'
import type { PanelView, Part } from '../part.js'

const MAX_MESSAGE = 500

/** The main facts of a request. The other panels have the details. */
export const overview: Part = {
  name: 'overview',
  panel: {
    label: 'Overview',
    group: 'overview',
    always: true,
    render: (_, profile, view) => {
      const shown = panelsOf(view.parts, profile)
      const tiles = resultsOf(shown, profile, (part, data) => part.overview?.(data, profile, view))
        .filter(({ value }) => value !== '')
        .map(({ title, value }) => html`<div><dt>${String(title)}</dt><dd>!${String(value)}</dd></div>`)
      const sentences = sentencesOf(shown, profile).map((text) => html`<p>${text}</p>`)
      const mood = isFailure(profile) ? 'bad' : isSuccess(profile) && profile.status > 0 ? 'good' : 'plain'
      return lead(outcomeSentence(profile), mood) +
        html`!${sentences}<dl class="tiles">!${tiles}</dl>!${view.differences ?? ''}!${relatedRequests(profile, view)}`
    }
  },
  overview: (_, profile, { parts }) => [
    { order: 20, title: 'Slowest part', value: profile.status === 0 ? '' : slowestPart(timelineOf(parts, profile)) },
    { order: 30, title: 'Problems', value: problemLinks(parts, profile) }
  ]
}

/** What happened to a request, in sentences that state recorded facts only. */
export function outcomeSentence (profile: Profile): string {
  const { method, status, exceptions, events, duration } = profile
  if (status === 0) return `The response had not ended after ${milliseconds(duration)}.`
  const closer = { 499: 'client', 444: 'server' }[status]
  if (closer !== undefined) {
    return `The ${closer} closed the connection after ${milliseconds(duration)}, before the response.`
  }
  const ended = ['raised', 'answered'].map((one) => events.find(({ outcome }) => outcome === one)).find(Boolean)
  const by = ended === undefined
    ? ''
    : ` The ${ended.stage.startsWith('kernel.') ? 'listener' : `${ended.stage} hook`} "${ended.listener}" ` +
      (ended.outcome === 'raised' ? 'raised an error.' : 'sent the response.')
  const answer = `${method} returned ${`${status} ${STATUS_CODES[status] ?? ''}`.trim()} in ${milliseconds(duration)}`
  const last = exceptions.at(-1)
  if (last === undefined) return `${answer}.${by}`
  const [root = last] = exceptions
  const cause = root === last ? '' : ` Its root cause is ${errorText(root)}.`
  return `${answer}: ${errorText(last)}.${cause}${by}`
}

function errorText ({ name, message, frames = [] }: FlattenedException): string {
  const frame = frames.find(({ own }) => own)
  const where = frame === undefined ? '' : ` (${placeOf(`${frame.file}:${frame.line}`, null).shown})`
  return `${visibleLine(`${name}: ${message}`).slice(0, MAX_MESSAGE).replace(/\.$/, '')}${where}`
}

function problemLinks (parts: readonly Part[], profile: Profile): string {
  const links = panelsOf(parts, profile).map((part) => {
    const { errors, warnings } = problemsOf(part, profile)
    const numbers = [errors > 0 && counted(errors, 'error'), warnings > 0 && counted(warnings, 'warning')]
      .filter(Boolean)
    if (numbers.length === 0) return ''
    return html`<div><a href="${addressOf(part.name)}">${labelOf(part)}</a>: ${numbers.join(', ')}</div>`
  })
  return links.join('') || 'None'
}

// A handler waits for its outgoing calls: the slowest one is shown, too.
function slowestPart (spans: readonly Span[]): string {
  const ended = spans.filter(({ duration, ofHindsight }) => duration !== null && ofHindsight !== true)
    .sort((a, b) => Number(b.duration) - Number(a.duration))
  const [slowest] = ended
  if (slowest === undefined) return 'Not recorded'
  const within = slowest.step === 'handler' ? ended.filter(({ step }) => step === undefined) : []
  return [slowest, ...within.slice(0, 1)].map(({ name, duration, link }) => html`<div><a href="${link}">` +
    html`${visibleLine(name).slice(0, MAX_MESSAGE)}</a> <strong>${milliseconds(duration)}</strong></div>`).join('')
}

/** The requests that caused this one, or were caused by it. */
function relatedRequests ({ token, parent, followOf, replayOf }: Profile, { base = '', ...view }: PanelView): string {
  const { children = [] } = view
  const list = (summaries: readonly ProfileSummary[]): string =>
    html`<ul class="relatives">!${summaries.map(({ token, status, method, url, duration }) =>
      html`<li><a href="${base}/${token}">${token}</a> !${statusBadge(status)} ` +
      html`${method} <span class="url">${visibleLine(url)}</span> ${milliseconds(duration)}</li>`)}</ul>`
  const follows = children.filter(isFollow)
  const subRequests = children.filter((child) => !isFollow(child))
  return [
    parent !== undefined && section(followOf === undefined ? 'Parent request' : 'Redirected from',
      view.parent == null ? note(`Profile ${parent} is not stored any more.`) : list([view.parent])),
    replayOf !== undefined && section('Replay',
      html`<p>This request replays <a href="${base}/${replayOf}">${replayOf}</a>: ` +
      html`<a href="${base}/${replayOf}/compare/${token}">differences</a></p>`),
    follows.length > 0 && section('Redirected to', list(follows)),
    subRequests.length > 0 && section('Sub-requests',
      list(subRequests) + html`<p><a href="${base}/search?parent=${token}">All requests of this parent</a></p>`)
  ].filter((part) => part !== false).join('')
}
