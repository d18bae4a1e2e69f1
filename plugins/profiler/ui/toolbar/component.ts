import { STATUS_CODES } from 'node:http'
import { html } from '../../../view/html.js'
import { script as readScript } from '../../../view/script.js'
import { style as readStyle } from '../../../view/style.js'
import { visibleLine } from '../../../view/visible.js'
import { bytes, milliseconds, statusClass } from '../components.js'
import { wordFor } from '../../../view/counted.js'
import type { ToolbarData } from './data.js'
import type { BarNonces, BarRights } from './policy.js'

const style = readStyle(import.meta.url, './style.css')
const script = readScript(import.meta.url, './script.js')

const SOURCES: Readonly<Record<string, string>> = { default: 'the default', route: 'the route', 'accept-language': 'Accept-Language' }
const ALL: BarRights = { script: true, connect: true }

interface Item {
  /** The class, and what the script finds it by. */
  name: string
  /** The panel that the item leads to. */
  panel: string
  head: string
  /** What it is, for those who do not see where it stands. */
  title: string
  facts: ReadonlyArray<readonly [name: string, value: string | number, fill?: string]>
}

/**
 * The bar as markup for any page: in a shadow root of its own, fixed above the page, so that neither can disturb the other.
 * Without its script it tells what was known when the response was sent; pop-ups open by hover and focus alike.
 */
export function toolbar (data: ToolbarData, nonces: BarNonces, { script: live, connect }: BarRights = ALL): string {
  const { url, token, status } = data
  return html`<hindsight-toolbar><template shadowrootmode="open"><style nonce="${nonces.style}">!${style}</style><aside class="frame" aria-label="Debug toolbar">
<input class="fold" type="checkbox" title="Fold the toolbar" aria-label="Fold the toolbar">
<a class="small status-!${statusClass(status)}" href="${url}" target="_top">${status}<span class="hidden"> Profile ${token}</span></a>
<ul>!${items(data).map((one) => item(one, url))}!${live ? '<li class="item requests" hidden><button type="button" class="head" aria-expanded="false"><span class="count">0</span> <span class="label">requests</span></button><div class="pop"><p>Requests of this page</p><ol></ol></div></li>' : ''}
<li class="item profile"><a class="head" href="${url}" target="_top"><span class="label">Profile </span><code>${token}</code></a></li></ul>
</aside></template>!${live ? html`<script nonce="${nonces.script}"!${connect ? html` data-more="${dataPath(url)}"` : ''}>!${script}</script>` : ''}</hindsight-toolbar>`
}

// Beside the profile, on the origin of the page.
function dataPath (url: string): string {
  return `${url.replace(/^https?:\/\/[^/]*/i, '').replace(/\/_profiler\/(?=[^/]*$)/, '/_wdt/')}.json`
}

function item ({ name, panel, head, title, facts }: Item, url: string): string {
  return html`<li class="item ${name}"><a class="head" href="${url}?panel=${panel}" target="_top"><span class="hidden">${title}: </span>!${head}</a><dl class="pop">!${facts.map(([label, value, fill]) =>
    html`<div><dt>${label}</dt><dd!${fill === undefined ? '' : html` data-fill="${fill}"`}>${visibleLine(String(value))}</dd></div>`)}</dl></li>`
}

function items (data: ToolbarData): Item[] {
  const { status, method, token, duration, handlerDuration, firstByte, memory, logs, errors, warnings } = data
  return [
    { name: `status status-${statusClass(status)}`, panel: 'request', title: 'Status', head: html`${status}`, facts: [['Status', `${status} ${STATUS_CODES[status] ?? ''}`], ['Method', method], ['Profile', token]] },
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
    ...(memory === null ? [] : [{ name: 'memory', panel: 'performance', title: 'Memory', head: bytes(memory), facts: [['Heap in use', bytes(memory), 'memory'] as const] }]),
    {
      name: `logs${errors > 0 ? ' bad' : warnings > 0 ? ' warn' : ''}`,
      panel: 'logs',
      title: 'Log',
      head: errors > 0
        ? html`${errors} <span class="label">${wordFor(errors, 'error')}</span>`
        : warnings > 0 ? html`${warnings} <span class="label">${wordFor(warnings, 'warning')}</span>` : html`${logs} <span class="label">${wordFor(logs, 'log')}</span>`,
      facts: [['Lines', logs], ['Errors', errors], ['Warnings', warnings]]
    },
    ...optionalItems(data)
  ]
}

function routeItem ({ method, route, pattern, handler }: ToolbarData): Item {
  // A route that nobody has named is called by its method and pattern.
  const name = route === null ? 'no route' : route.startsWith(`${method} `) ? route.slice(method.length + 1) : route
  return {
    name: 'route',
    panel: 'router',
    title: 'Route',
    head: html`<span class="label long">${method}</span> <span class="name">${visibleLine(name)}</span>`,
    facts: [['Route', route ?? 'none'], ['Pattern', pattern ?? '–'], ['Handler', handler ?? '–']]
  }
}

function optionalItems ({ security, locale, cache, calls }: ToolbarData): Item[] {
  return [
    ...(security === null
      ? []
      : [{
          name: 'security',
          panel: 'security',
          title: 'Security',
          head: html`<span class="name">${visibleLine(security.user ?? 'anonymous')}</span>`,
          facts: [['User', security.user ?? 'nobody is logged in'], ['Roles', security.roles.join(', ') || 'none'], ['Authenticated by', security.authenticatedBy ?? '–'], ['Firewall', security.firewall ?? 'none']] as const
        }]),
    ...(locale === null ? [] : [{ name: 'locale', panel: 'locale', title: 'Locale', head: html`${visibleLine(locale.locale)}`, facts: [['Locale', locale.locale], ['Decided by', SOURCES[locale.source] ?? locale.source]] as const }]),
    ...(cache === null ? [] : [{ name: 'cache', panel: 'cache', title: 'HTTP cache', head: html`<span class="label">cache</span> ${cache}`, facts: [['Outcome', cache]] as const }]),
    ...(calls.count === 0
      ? []
      : [{ name: `calls${calls.failed > 0 ? ' bad' : ''}`, panel: 'http-client', title: 'Outgoing calls', head: html`${calls.count} <span class="label">${wordFor(calls.count, 'call')}</span>`, facts: [['Sent to others', calls.count], ['Failed', calls.failed]] as const }])
  ]
}
