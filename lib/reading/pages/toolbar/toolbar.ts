import { STATUS_CODES } from 'node:http'
import type { Nonces } from '../../../http/content-policy.js'
import { isErrorOrWorse, type LogRecord } from '../../../logs/log-record.js'
import { wordFor } from '../../../view/counted.js'
import type { EditorLink } from '../../../view/editor.js'
import { html } from '../../../view/html.js'
import { cut, visibleLine } from '../../../view/visible.js'
import { dataOf, isFailedCall, listOf } from '../../../parts/part.js'
import type { Profile } from '../../../profiler/profile.js'
import { milliseconds, placeOf, statusClass } from '../../../view/components.js'

/** The parts of a profile, stored or unfinished, that the toolbar needs. */
export interface ToolbarSource
  extends Pick<Profile, 'token' | 'status' | 'method' | 'route' | 'duration' | 'collectors'> {
  logs: ReadonlyArray<Pick<LogRecord, 'level' | 'channel'>>
  exceptions: ReadonlyArray<{ name: string, message: string }>
}

/** The data that the toolbar shows; null: not available. */
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

const MAX_EXCEPTION = 300
const REQUESTS = '<li class="item requests"><button type="button" class="head">' +
  '<span class="count">0</span> <span class="label">requests<span class="failed"></span></span></button>' +
  '<div class="pop"><p>Requests of this page<span class="failed"></span></p><ol></ol></div></li>'

/**
 * The markup of the toolbar. A shadow root separates its styles from those of the page. It is hidden until its
 * stylesheet is loaded. `nonces` are for policies that do not allow the URLs of the files.
 */
export function toolbar (
  data: ToolbarData, files: Readonly<Record<'style' | 'script', string>>, editor: EditorLink | null, nonces?: Nonces
): string {
  const { url, token, status } = data
  const link = html`href="${url}" target="_top"`
  const nonceOf = (kind: keyof Nonces): string => nonces === undefined ? '' : html` nonce="${nonces[kind]}"`
  return html`<hindsight-toolbar><template shadowrootmode="open">
<link rel="stylesheet" href="${files.style}"!${nonceOf('style')}>
<aside class="frame" aria-label="Debug toolbar" hidden>
<input class="fold" type="checkbox" title="Fold the toolbar" aria-label="Fold the toolbar">
<a class="small status-!${statusClass(status)}" !${link}>${status}<span class="hidden"> Profile ${token}</span></a>
<ul>!${itemsOf(data, editor)}!${REQUESTS}
<li class="item profile"><a class="head" !${link}><span class="label">Profile </span><code>${token}</code></a>
<div class="pop"><a href="${url}.md" target="_top">Markdown for an AI assistant</a></div>
</li></ul>
</aside></template><script src="${files.script}"!${nonceOf('script')}></script></hindsight-toolbar>`
}

/** The items for status, route, time and log, and those for an exception and outgoing calls if there are any. */
function itemsOf (data: ToolbarData, editor: EditorLink | null): string[] {
  const { status, method, route, pattern, handler, duration, handlerDuration, firstByte } = data
  const { logs, errors, warnings, exception, calls } = data
  const { shown, href } = placeOf(handler ?? '–', editor)
  const place = href === null ? html`${shown}` : html`<a href="${href}">${shown}</a>`
  // A route without a name is named by its methods and pattern.
  const name = visibleLine(route?.replace(/^[A-Z|]+ (?=\/)/, '') ?? 'no route')
  const routeHead = html`<span class="label long">${method}</span> <span class="name">${name}</span>`
  const problems = ([['bad', errors, 'error'], ['warn', warnings, 'warning']] as const)
    .filter(([, count]) => count > 0)
  const problemHead = problems.map(([mark, count, word]) => html`<span class="${mark}">!${counted(count, word)}</span>`)

  function item (className: string, panel: string, title: string, head: string, facts: Facts, more = ''): string {
    const rows = Object.entries(facts).map(([label, value]) =>
      html`<div><dt>${label}</dt><dd>${visibleLine(String(value))}</dd></div>`)
    const pop = rows.length === 0 ? '' : html`<dl class="pop">!${rows}!${more}</dl>`
    return html`<li class="item ${className}"><a class="head" href="${data.url}?panel=${panel}" target="_top">` +
      html`<span class="hidden">${title}: </span>!${head}</a>!${pop}</li>`
  }

  return [
    item(`status status-${statusClass(status)}`, 'request', 'Status', html`${status}`, {
      Status: `${status} ${STATUS_CODES[status] ?? ''}`, Method: method
    }),
    item('route', 'router', 'Route', routeHead, {
      Route: route ?? 'none', Pattern: pattern ?? '–'
    }, html`<div><dt>Handler</dt><dd>!${place}</dd></div>`),
    item('time', 'performance', 'Time', html`${milliseconds(duration)}`, {
      Handler: milliseconds(handlerDuration), 'Response ready': milliseconds(firstByte ?? duration)
    }),
    item(`logs ${problems[0]?.[0] ?? ''}`, 'logs', 'Log', problemHead.join(' ') || counted(logs, 'log'), {}),
    exception === null
      ? ''
      : item('exception bad', 'exceptions', 'Exception', '<span class="label">exception</span>', {
        Exception: cut(exception, MAX_EXCEPTION)
      }),
    calls.count === 0
      ? ''
      : item(`calls ${calls.failed > 0 ? 'bad' : ''}`, 'http-client', 'Outgoing calls', counted(calls.count, 'call'), {
        'Outgoing calls': calls.count, Failed: calls.failed
      })
  ]
}

/** The facts of a pop-up, by their names. */
type Facts = Readonly<Record<string, string | number>>

function counted (count: number, word: string): string {
  return html`${count} <span class="label">${wordFor(count, word)}</span>`
}
