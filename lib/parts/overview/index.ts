import { STATUS_CODES } from 'node:http'
import type { FlattenedException } from '../../errors/exception.js'
import { counted } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { lead, milliseconds, note, place, placeOf, section, statusBadge } from '../../view/components.js'
import type { Profile } from '../../profiler/profile.js'
import { isFailure, type ProfileSummary } from '../../profiler/summary.js'
import { addressOf, createPanel, dataOf, isFailedCall, listOf, type PanelView } from '../part.js'
import { spansOf, type Span } from '../timeline.js'

const MAX_MESSAGE = 500

/** The main facts of a request. The other panels have the details. */
export const overviewPanel = createPanel('overview', 'Overview', 'overview', {
  always: true,
  render: (_, profile, view) => {
    const tiles = tilesOf(profile, view)
      .map(([name, value]) => html`<div><dt>${name}</dt><dd>!${value}</dd></div>`)
    return lead(outcomeSentence(profile), isFailure(profile) ? 'bad' : profile.status < 400 ? 'good' : 'plain') +
      html`<dl class="tiles">!${tiles}</dl>!${view.differences ?? ''}!${relatedRequests(profile, view)}`
  }
})

/** What happened to a request, in sentences that state recorded facts only. */
export function outcomeSentence (profile: Profile): string {
  const { method, status, exceptions, events, duration } = profile
  const closer = { 499: 'client', 444: 'server' }[status]
  if (closer !== undefined) {
    return `The ${closer} closed the connection after ${milliseconds(duration)}, before the response.`
  }
  const ended = ['raised', 'answered'].map((one) => events.find(({ outcome }) => outcome === one)).find(Boolean)
  const by = ended === undefined
    ? ''
    : ` The ${ended.stage.startsWith('kernel.') ? 'listener' : `${ended.stage} hook`} "${ended.listener}" ` +
      (ended.outcome === 'raised' ? 'threw an error.' : 'sent the response.')
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

/** The facts by their titles; the values are markup. */
function tilesOf (profile: Profile, { editor, problems = [] }: PanelView): Array<[title: string, value: string]> {
  const { duration, route, exceptions } = profile
  const { handler, firstByte } = dataOf(profile, 'performance')
  const { count, calls } = dataOf(profile, 'http-client')
  const frame = exceptions.flatMap(({ frames = [] }) => frames).find(({ own }) => own)
  const times = Object.entries({ Total: duration, Handler: handler, 'Response ready': firstByte })
    .filter(([, time]) => typeof time === 'number')
    .map(([name, time]) => html`<div>${name} <strong>${milliseconds(time)}</strong></div>`)
  const links = problems.map(([{ name, label }, { errors, warnings }]) => {
    const numbers = [errors > 0 && counted(errors, 'error'), warnings > 0 && counted(warnings, 'warning')]
    return html`<div><a href="${addressOf(name)}">${label}</a>: ${numbers.filter(Boolean).join(', ')}</div>`
  })
  const failed = listOf(calls).filter(isFailedCall).length
  const callText = counted(Number(count), 'call') + (failed > 0 ? `, ${failed} failed` : '')
  const tiles: Array<[title: string, value: string]> = [
    ['Time', times.join('')],
    ['Slowest part', slowestPart(spansOf(profile))],
    ['Problems', links.join('') || 'None'],
    ['Outgoing calls', typeof count === 'number' ? html`<a href="${addressOf('http-client')}">${callText}</a>` : ''],
    ['Handler', route?.handler === undefined ? '' : place(route.handler, editor)],
    ['Thrown at', frame === undefined ? '' : place(`${frame.file}:${frame.line}`, editor)]
  ]
  return tiles.filter(([, value]) => value !== '')
}

// A handler waits for its outgoing calls: the slowest one is shown, too.
function slowestPart (spans: readonly Span[]): string {
  const ended = spans.filter(({ duration }) => duration !== null)
    .sort((a, b) => Number(b.duration) - Number(a.duration))
  const [slowest] = ended
  if (slowest === undefined) return 'Not recorded'
  const within = slowest.kind === 'handler' ? ended.filter(({ kind }) => kind === 'call' || kind === 'span') : []
  return [slowest, ...within.slice(0, 1)].map(({ name, duration, link }) => html`<div><a href="${link}">` +
    html`${visibleLine(name).slice(0, MAX_MESSAGE)}</a> <strong>${milliseconds(duration)}</strong></div>`).join('')
}

/** The requests that caused this one, or were caused by it. */
function relatedRequests ({ token, parent, replayOf }: Profile, { base = '', ...view }: PanelView): string {
  const { children = [] } = view
  const list = (summaries: readonly ProfileSummary[]): string =>
    html`<ul class="relatives">!${summaries.map(({ token, status, method, url, duration }) =>
      html`<li><a href="${base}/${token}">${token}</a> !${statusBadge(status)} ` +
      html`${method} <span class="url">${visibleLine(url)}</span> ${milliseconds(duration)}</li>`)}</ul>`
  const parts = []
  if (parent !== undefined) {
    parts.push(section('Parent request',
      view.parent == null ? note(`Profile ${parent} is not stored any more.`) : list([view.parent])))
  }
  if (replayOf !== undefined) {
    parts.push(section('Replay', html`<p>This request replays <a href="${base}/${replayOf}">${replayOf}</a>: ` +
      html`<a href="${base}/${replayOf}/compare/${token}">differences</a></p>`))
  }
  if (children.length > 0) {
    parts.push(section('Sub-requests', list(children) +
      html`<p><a href="${base}/search?parent=${token}">All sub-requests</a></p>`))
  }
  return parts.join('')
}
