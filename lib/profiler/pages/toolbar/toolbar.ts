import { STATUS_CODES } from 'node:http'
import { isErrorOrWorse, type LogRecord } from '../../../logs/log-record.js'
import { wordFor } from '../../../view/counted.js'
import type { EditorLink } from '../../../view/editor.js'
import { html } from '../../../view/html.js'
import { cut, visibleLine } from '../../../view/visible.js'
import { dataOf, isFailedCall, listOf } from '../../panels/panel.js'
import type { Profile } from '../../profile.js'
import { milliseconds, placeOf, statusClass } from '../components.js'
import type { ToolbarNonces } from './policy.js'

type ProfileFields = 'token' | 'status' | 'method' | 'route' | 'duration' | 'collectors'

/** The parts of a profile, stored or unfinished, that the toolbar needs. */
export interface ToolbarSource extends Pick<Profile, ProfileFields> {
  logs: ReadonlyArray<Pick<LogRecord, 'level' | 'channel'>>
  exceptions: ReadonlyArray<{ name: string, message: string }>
}

/** What the toolbar shows of a request; null: unknown, or not part of the request. */
export type ToolbarData = ReturnType<typeof toolbarOf>

/** The toolbar's data of a profile; `url` is the URL of its page. Durations are milliseconds. */
export function toolbarOf (profile: ToolbarSource, url: string) {
  const { token, status, method, route, duration, logs, exceptions } = profile
  const error = exceptions.at(-1)
  const { handler, firstByte } = dataOf(profile, 'performance')
  const { count, calls } = dataOf(profile, 'http-client')
  return {
    token,
    url,
    status,
    method,
    route: route?.name ?? null,
    pattern: route?.pattern ?? null,
    /** The place of the handler, `file:line`. */
    handler: route?.handler ?? null,
    /** Until now if the response is not finished. */
    duration,
    handlerDuration: numberOf(handler),
    /** Until the response was ready to be sent. */
    firstByte: numberOf(firstByte),
    /** Lines, without the notifications of listeners. */
    logs: logs.filter(({ channel }) => channel !== 'event').length,
    errors: logs.filter(isErrorOrWorse).length,
    warnings: logs.filter(({ level }) => level === 'warn').length,
    /** Name and message of the last exception. */
    exception: error === undefined ? null : `${error.name}: ${error.message}`,
    /** Requests to other servers. */
    calls: { count: numberOf(count) ?? 0, failed: listOf(calls).filter(isFailedCall).length }
  }
}

function numberOf (value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

/** A fact of a pop-up. */
type Fact = readonly [name: string, value: string | number]

const MAX_EXCEPTION = 300
const REQUESTS = '<li class="item requests"><button type="button" class="head">' +
  '<span class="count">0</span> <span class="label">requests<span class="failed"></span></span></button>' +
  '<div class="pop"><p>Requests of this page<span class="failed"></span></p><ol></ol></div></li>'

/**
 * The toolbar as markup for any page: in a shadow root, so that neither affects the other. Its stylesheet shows it.
 * `nonces` are for policies that do not allow the URLs of the files. Pop-ups open by hover and focus.
 */
export function toolbar (
  data: ToolbarData, files: Readonly<Record<'style' | 'script', string>>, editor: EditorLink | null,
  nonces?: ToolbarNonces
): string {
  const { url, token, status } = data
  const link = html`href="${url}" target="_top"`
  const nonceOf = (kind: 'style' | 'script'): string => nonces === undefined ? '' : html` nonce="${nonces[kind]}"`
  return html`<hindsight-toolbar><template shadowrootmode="open">
<link rel="stylesheet" href="${files.style}"!${nonceOf('style')}>
<aside class="frame" aria-label="Debug toolbar" hidden>
<input class="fold" type="checkbox" title="Fold the toolbar" aria-label="Fold the toolbar">
<a class="small status-!${statusClass(status)}" !${link}>${status}!${hidden(` Profile ${token}`)}</a>
<ul>!${[...requestItems(data, editor), ...optionalItems(data)]}!${REQUESTS}
<li class="item profile"><a class="head" !${link}><span class="label">Profile </span><code>${token}</code></a>
<div class="pop"><a href="${url}.md" target="_top">Markdown for an AI assistant</a></div>
</li></ul>
</aside></template><script src="${files.script}"!${nonceOf('script')}></script></hindsight-toolbar>`
}

function hidden (text: string): string {
  return html`<span class="hidden">${text}</span>`
}

function label (text: string): string {
  return html`<span class="label">${text}</span>`
}

function counted (count: number, word: string): string {
  return html`${count} !${label(wordFor(count, word))}`
}

function name (text: string): string {
  return html`<span class="name">${visibleLine(text)}</span>`
}

/** A link to a panel with a pop-up of facts; `title` is for screen readers, `head` and `more` are markup. */
function item (
  name: string, panel: string, title: string, url: string, head: string, facts: readonly Fact[], more = ''
): string {
  const rows = facts.map(([label, value]) => html`<div><dt>${label}</dt><dd>${visibleLine(String(value))}</dd></div>`)
  const pop = html`<dl class="pop">!${rows}!${more}</dl>`
  return html`<li class="item ${name}"><a class="head" href="${url}?panel=${panel}" target="_top">` +
    html`!${hidden(`${title}: `)}!${head}</a>!${facts.length === 0 ? '' : pop}</li>`
}

function requestItems (data: ToolbarData, editor: EditorLink | null): string[] {
  const { url, status, method, duration, handlerDuration, firstByte } = data
  const { route, pattern, handler, logs, errors, warnings } = data
  // A route without a name is named by its methods and pattern.
  const routeName = route?.replace(/^[A-Z|]+ (?=\/)/, '') ?? 'no route'
  const routeHead = html`<span class="label long">${method}</span> !${name(routeName)}`
  const { shown, href } = placeOf(handler ?? '–', editor)
  const link = href === null ? '' : html` href="${href}"`
  const handlerFact = html`<div><dt>Handler</dt><dd><a!${link}>${shown}</a></dd></div>`
  const problems = [['bad', errors, 'error'], ['warn', warnings, 'warning']] as const
  const found = problems.filter(([, count]) => count > 0)
  const logHead = found.map(([mark, count, word]) => html`<span class="${mark}">!${counted(count, word)}</span>`)
  return [
    item(`status status-${statusClass(status)}`, 'request', 'Status', url, html`${status}`, [
      ['Status', `${status} ${STATUS_CODES[status] ?? ''}`], ['Method', method]
    ]),
    item('route', 'router', 'Route', url, routeHead, [
      ['Route', route ?? 'none'], ['Pattern', pattern ?? '–']
    ], handlerFact),
    item('time', 'performance', 'Time', url, html`${milliseconds(duration)}`, [
      ['Handler', milliseconds(handlerDuration)],
      ['Response ready', milliseconds(firstByte ?? duration)]
    ]),
    item(`logs ${found[0]?.[0] ?? ''}`, 'logs', 'Log', url, logHead.join(' ') || counted(logs, 'log'), [])
  ]
}

function optionalItems ({ url, exception, calls }: ToolbarData): string[] {
  const items: string[] = []
  if (exception !== null) {
    items.push(item('exception bad', 'exceptions', 'Exception', url, label('exception'), [
      ['Exception', cut(exception, MAX_EXCEPTION)]
    ]))
  }
  if (calls.count > 0) {
    const mark = calls.failed > 0 ? 'bad' : ''
    items.push(item(`calls ${mark}`, 'http-client', 'Outgoing calls', url, counted(calls.count, 'call'), [
      ['Outgoing calls', calls.count], ['Failed', calls.failed]
    ]))
  }
  return items
}
