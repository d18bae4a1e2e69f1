import { STATUS_CODES } from 'node:http'
import { wordFor } from '../../../view/counted.js'
import { html } from '../../../view/html.js'
import { script, style } from '../../../view/asset.js'
import { cut, visibleLine } from '../../../view/visible.js'
import { bytes, milliseconds, statusClass } from '../components.js'
import { assetPair } from '../hashed-asset.js'
import type { ToolbarData } from './data.js'

/** The files of the toolbar, served with the assets of the profiler's pages. */
export const toolbarAssets = assetPair(style(import.meta.url, './style.css'), script(import.meta.url, './script.js'))

/** The files that the markup refers to. A nonce is needed only if the policy of the page does not allow the address. */
export interface ToolbarFiles {
  style: { href: string, nonce?: string | undefined }
  /** Null: the toolbar is static. */
  script: {
    src: string
    nonce?: string | undefined
    /** The address of the toolbar's data, for what is unknown when the page is sent; null: nothing is requested. */
    data: string | null
  } | null
}

const MAX_EXCEPTION = 300

interface Item {
  /** Its class. */
  name: string
  /** The panel that it links to. */
  panel: string
  head: string
  /** What it shows, for screen readers. */
  title: string
  /** `fill` is the field of the toolbar's data that replaces the value. */
  facts: ReadonlyArray<readonly [name: string, value: string | number, fill?: string]>
}

const SOURCES: Readonly<Record<string, string>> = {
  default: 'the default',
  route: 'the route',
  'accept-language': 'Accept-Language'
}
const REQUESTS = '<li class="item requests" hidden><button type="button" class="head" aria-expanded="false">' +
  '<span class="count">0</span> <span class="label">requests</span></button>' +
  '<div class="pop"><p>Requests of this page</p><ol></ol></div></li>'

/**
 * The toolbar as markup for any page: in a shadow root, fixed above the page, so that neither affects the other. The
 * stylesheet shows it; where that does not arrive, it stays hidden. Pop-ups open by hover and focus without the script.
 */
export function toolbar (data: ToolbarData, files: ToolbarFiles): string {
  const { url, token, status } = data
  const link = html`href="${url}" target="_top"`
  return html`<hindsight-toolbar><template shadowrootmode="open">
<link rel="stylesheet" href="${files.style.href}"!${attribute('nonce', files.style.nonce)}>
<aside class="frame" aria-label="Debug toolbar" hidden>
<input class="fold" type="checkbox" title="Fold the toolbar" aria-label="Fold the toolbar">
<a class="small status-!${statusClass(status)}" !${link}>${status}!${hidden(` Profile ${token}`)}</a>
<ul>!${items(data).map((one) => item(one, url))}!${files.script === null ? '' : REQUESTS}
<li class="item profile"><a class="head" !${link}><span class="label">Profile </span><code>${token}</code></a></li></ul>
</aside></template>!${scriptElement(files)}</hindsight-toolbar>`
}

function hidden (text: string): string {
  return html`<span class="hidden">${text}</span>`
}

function scriptElement ({ script }: ToolbarFiles): string {
  if (script === null) return ''
  const { src, nonce, data } = script
  return html`<script src="${src}"!${attribute('nonce', nonce)}!${attribute('data-more', data)}></script>`
}

function attribute (name: string, value: string | null | undefined): string {
  return value === null || value === undefined ? '' : html` !${name}="${value}"`
}

function item ({ name, panel, head, title, facts }: Item, url: string): string {
  const rows = facts.map(([label, value, fill]) =>
    html`<div><dt>${label}</dt><dd!${attribute('data-fill', fill)}>${visibleLine(String(value))}</dd></div>`)
  return html`<li class="item ${name}"><a class="head" href="${url}?panel=${panel}" target="_top">` +
    html`!${hidden(`${title}: `)}!${head}</a><dl class="pop">!${rows}</dl></li>`
}

function items (data: ToolbarData): Item[] {
  const { status, method, token, duration, handlerDuration, firstByte, memory } = data
  return [
    {
      name: `status status-${statusClass(status)}`,
      panel: 'request',
      title: 'Status',
      head: html`${status}`,
      facts: [['Status', `${status} ${STATUS_CODES[status] ?? ''}`], ['Method', method], ['Profile', token]]
    },
    routeItem(data),
    {
      name: 'time',
      panel: 'performance',
      title: 'Time',
      head: milliseconds(duration),
      facts: [
        ['Until the page was complete', milliseconds(duration)],
        ['Altogether', firstByte === null ? '–' : milliseconds(duration), 'duration'],
        ['Handler', milliseconds(handlerDuration), 'handlerDuration'],
        ['First byte', milliseconds(firstByte), 'firstByte']
      ]
    },
    ...(memory === null
      ? []
      : [{
          name: 'memory',
          panel: 'performance',
          title: 'Memory',
          head: bytes(memory),
          facts: [['Heap in use', bytes(memory), 'memory'] as const]
        }]),
    logItem(data),
    ...optionalItems(data)
  ]
}

function routeItem ({ method, route, pattern, handler }: ToolbarData): Item {
  // A route without a name is called by its method and pattern.
  const name = route === null ? 'no route' : route.startsWith(`${method} `) ? route.slice(method.length + 1) : route
  return {
    name: 'route',
    panel: 'router',
    title: 'Route',
    head: html`<span class="label long">${method}</span> <span class="name">${visibleLine(name)}</span>`,
    facts: [['Route', route ?? 'none'], ['Pattern', pattern ?? '–'], ['Handler', handler ?? '–']]
  }
}

function logItem ({ logs, errors, warnings }: ToolbarData): Item {
  const [mark, count, word] = errors > 0
    ? ['bad', errors, 'error'] as const
    : warnings > 0 ? ['warn', warnings, 'warning'] as const : ['', logs, 'log'] as const
  return {
    name: `logs ${mark}`,
    panel: 'logs',
    title: 'Log',
    head: html`${count} <span class="label">${wordFor(count, word)}</span>`,
    facts: [['Lines', logs], ['Errors', errors], ['Warnings', warnings]]
  }
}

function optionalItems ({ exception, security, locale, cache, calls }: ToolbarData): Item[] {
  const shown: Item[] = []
  if (exception !== null) {
    shown.push({
      name: 'exception bad',
      panel: 'exceptions',
      title: 'Exception',
      head: '<span class="label">exception</span>',
      facts: [['Exception', cut(exception, MAX_EXCEPTION)]]
    })
  }
  if (security !== null) {
    shown.push({
      name: 'security',
      panel: 'security',
      title: 'Security',
      head: html`<span class="name">${visibleLine(security.user ?? 'anonymous')}</span>`,
      facts: [
        ['User', security.user ?? 'not logged in'],
        ['Roles', security.roles.join(', ') || 'none'],
        ['Authenticated by', security.authenticatedBy ?? '–'],
        ['Firewall', security.firewall ?? 'none']
      ]
    })
  }
  if (locale !== null) {
    shown.push({
      name: 'locale',
      panel: 'locale',
      title: 'Locale',
      head: html`${visibleLine(locale.locale)}`,
      facts: [['Locale', locale.locale], ['Decided by', SOURCES[locale.source] ?? locale.source]]
    })
  }
  if (cache !== null) {
    shown.push({
      name: 'cache',
      panel: 'cache',
      title: 'HTTP cache',
      head: html`<span class="label">cache</span> ${cache}`,
      facts: [['Outcome', cache]]
    })
  }
  if (calls.count > 0) {
    shown.push({
      name: `calls${calls.failed > 0 ? ' bad' : ''}`,
      panel: 'http-client',
      title: 'Outgoing calls',
      head: html`${calls.count} <span class="label">${wordFor(calls.count, 'call')}</span>`,
      facts: [['Sent to others', calls.count], ['Failed', calls.failed]]
    })
  }
  return shown
}
