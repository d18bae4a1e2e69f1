import { STATUS_CODES } from 'node:http'
import type { FlattenedException } from '../../errors/exception.js'
import { counted } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { bytes, lead, milliseconds, note, place, section, statusBadge } from '../pages/components.js'
import type { Profile } from '../profile.js'
import { isFailure, type ProfileSummary } from '../summary.js'
import { addressOf, createPanel, dataOf, isFailedCall, listOf, type PanelView } from './panel.js'
import { spansOf, type Span } from './waterfall.js'

const MAX_MESSAGE = 500

/** The answers to the first questions about a request; every other panel has the details. */
export const overviewPanel = createPanel('overview', 'Overview', 'overview', {
  always: true,
  render: (_, profile, view) => {
    const tiles = [...tilesOf(profile, view)]
      .map(([name, value]) => html`<div><dt>${name}</dt><dd>!${value}</dd></div>`)
    return lead(happened(profile), isFailure(profile) ? 'bad' : profile.status < 400 ? 'good' : 'plain') +
      html`<dl class="tiles">!${tiles}</dl>!${view.differences ?? ''}!${related(profile, view)}`
  }
})

/** What happened to a request, in sentences that state recorded facts only. */
export function happened (profile: Profile): string {
  const { method, status, exceptions, events, duration } = profile
  if (status === 499) return `The client closed the connection after ${milliseconds(duration)}, before the response.`
  const ended = ['raised', 'answered'].map((one) => events.find(({ outcome }) => outcome === one)).find(Boolean)
  const by = ended === undefined
    ? ''
    : ` The ${ended.stage.startsWith('kernel.') ? 'listener' : `${ended.stage} hook`} "${ended.listener}" ` +
      (ended.outcome === 'raised' ? 'threw an error.' : 'sent the response.')
  const answer = `${method} returned ${`${status} ${STATUS_CODES[status] ?? ''}`.trim()} in ${milliseconds(duration)}`
  const last = exceptions.at(-1)
  if (last === undefined) return `${answer}${bodyText(profile)}.${by}`
  const [root = last] = exceptions
  const cause = root === last ? '' : ` Its root cause is ${errorText(root)}.`
  return `${answer}: ${errorText(last)}.${cause}${by}`
}

function bodyText (profile: Profile): string {
  const { size, contentType, headers } = dataOf(profile, 'response')
  const { location } = (headers ?? {}) as { location?: unknown }
  if (typeof location === 'string') return `, to ${visibleLine(location).slice(0, MAX_MESSAGE)}`
  if (typeof size !== 'number') return ''
  return `, ${bytes(size)}${typeof contentType === 'string' ? ` of ${contentType.split(';', 1)[0]}` : ''}`
}

function errorText ({ name, message, frames = [] }: FlattenedException): string {
  const frame = frames.find(({ own }) => own)
  const where = frame === undefined ? '' : ` (${frame.file.replace(`${process.cwd()}/`, '')}:${frame.line})`
  return `${visibleLine(`${name}: ${message}`).slice(0, MAX_MESSAGE).replace(/\.$/, '')}${where}`
}

/** The facts by their titles; the values are markup. */
function tilesOf (profile: Profile, { editor, problems = [] }: PanelView): Map<string, string> {
  const { duration, route, exceptions } = profile
  const { handler, firstByte } = dataOf(profile, 'performance')
  const { count, calls } = dataOf(profile, 'http-client')
  const frame = exceptions.flatMap(({ frames = [] }) => frames).find(({ own }) => own)
  const times = Object.entries({ Total: duration, Handler: handler, 'Response ready': firstByte })
    .filter(([, time]) => typeof time === 'number')
    .map(([name, time]) => html`${name} <strong>${milliseconds(time)}</strong>`)
  const links = problems.map(([{ name, label }, { errors, warnings }]) => {
    const numbers = [errors > 0 && counted(errors, 'error'), warnings > 0 && counted(warnings, 'warning')]
    return html`<a href="${addressOf(name)}">${label}</a>: ${numbers.filter(Boolean).join(', ')}`
  })
  const failed = listOf(calls).filter(isFailedCall).length
  return new Map([
    ['Time', listed(times)],
    ['Slowest part', slowestPart(spansOf(profile))],
    ['Problems', links.length === 0 ? 'None' : listed(links)],
    ...(typeof count !== 'number'
      ? []
      : [['Outgoing calls', html`<a href="${addressOf('http-client')}">${counted(count, 'call')}</a>` +
        (failed > 0 ? `, ${failed} failed` : '')] as const]),
    ...(route?.handler === undefined ? [] : [['Handler', place(route.handler, editor)] as const]),
    ...(frame === undefined ? [] : [['Thrown at', place(`${frame.file}:${frame.line}`, editor)] as const])
  ])
}

function listed (items: readonly string[]): string {
  return items.map((item) => html`<div>!${item}</div>`).join('')
}

// A handler waits for its outgoing calls: the slowest one is named beside it.
function slowestPart (spans: readonly Span[]): string {
  const ended = spans.filter(({ duration }) => duration !== null)
    .sort((a, b) => Number(b.duration) - Number(a.duration))
  const [slowest] = ended
  if (slowest === undefined) return 'Not recorded'
  const within = slowest.kind === 'handler' ? ended.find(({ kind }) => kind === 'call' || kind === 'span') : undefined
  return listed([slowest, within].filter((span) => span !== undefined).map(({ name, duration, link }) =>
    html`<a href="${link}">${visibleLine(name).slice(0, MAX_MESSAGE)}</a> <strong>${milliseconds(duration)}</strong>`))
}

/** The requests that caused this one, or were caused by it. */
function related ({ token, parent, replayOf }: Profile, { base = '', ...view }: PanelView): string {
  const { children = [] } = view
  const row = (summary: ProfileSummary): string =>
    html`<li><a href="${base}/${summary.token}">${summary.token}</a> !${statusBadge(summary.status)} ` +
    html`${summary.method} <span class="url">${visibleLine(summary.url)}</span> ${milliseconds(summary.duration)}</li>`
  const parts = []
  if (parent !== undefined) {
    parts.push(section('Parent request', view.parent == null
      ? note(`Profile ${parent} is not stored any more.`)
      : html`<ul class="relatives">!${row(view.parent)}</ul>`))
  }
  if (replayOf !== undefined) {
    parts.push(section('Replay', html`<p>This request replays <a href="${base}/${replayOf}">${replayOf}</a>: ` +
      html`<a href="${base}/${replayOf}/compare/${token}">differences</a></p>`))
  }
  if (children.length > 0) {
    parts.push(section('Sub-requests', html`<ul class="relatives">!${children.map(row)}</ul>` +
      html`<p><a href="${base}/search?parent=${token}">All sub-requests</a></p>`))
  }
  return parts.join('')
}
