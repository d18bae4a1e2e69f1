import { hookText } from '../../errors/declared-place.js'
import { shortFile } from '../../errors/stack-frame.js'
import { isLifecycleStage, shownValue, type HeaderChange, type ListenerEvent } from '../../recording/events.js'
import { RequestTrace } from '../../recording/trace.js'
import type { Mask } from '../../mask/mask.js'
import { isSuccess, type Profile } from '../../store/profile.js'
import { readAsset } from '../../view/asset.js'
import { formatTime, noteText, placeElement, placeLink, titledSection, markupTable } from '../../view/components.js'
import { cutText, html, presentItems, visibleLine, type HtmlValue, type SafeHtml } from '../../view/text.js'
import type { PanelView, Part, TimelineEntry } from '../part.js'
import { addressOf, dataOf, groupedBy, linesSection, listOf, type Data } from '../read.js'
import { isOneFailed } from '../pairing.js'
import { alignItems, type Section } from '../section.js'

const COLUMNS: Parameters<typeof markupTable>[1] = ['#', 'Listener', 'Added by', 'Changes', ['Duration']]

/** Listeners whose work is the profile, the page or the toolbar. */
const OBSERVERS: ReadonlySet<string> = new Set([
  'debug-handlers', 'router-data-collector', 'request-data-collector', 'error', 'profiler', 'error-csp-removal',
  'debug-toolbar'
])

/** The listeners and hooks in the order in which they ran, what each changed, and the history of each header. */
export const events: Part = {
  name: 'events',
  ofRequests: true,
  panel: {
    label: 'Headers and hooks',
    group: 'hooks',
    always: true,
    count: (_, { events }) => events.filter(({ outcome }) => outcome !== 'skipped').length,
    problem: (_, { events }) => events.filter(({ outcome }) => outcome === 'raised').length,
    render: (_, profile, view) => [
      titledSection('Listeners and hooks', listeners(profile, view)),
      titledSection('Response headers, and where they were set', headerTable(profile, view))
    ]
  },
  fact (_, { events }) {
    const hooks = events.filter(({ source }) => source !== undefined)
    const groups = groupedBy(hooks, (hook) => `${hook.pass} ${hookText(hook)}`)
    const repeated = [...groups.values()].find(({ length }) => length > 1)
    if (repeated?.[0] === undefined) return undefined
    return `The ${hookText(repeated[0])} ran ${repeated.length === 2 ? 'twice' : `${repeated.length} times`}.`
  },
  timeline: (_, { events }) => events.flatMap(entryOf),
  markdown (_, { events }) {
    const hooks = events.filter(({ source, outcome }) => source !== undefined && outcome !== 'skipped')
    return linesSection(28, 'Hooks', hooks.map(hookLine))
  },
  comparison: [{ order: 90, compare: compareEvents }],
  style: readAsset(import.meta.url, './style.css')
}

/** The panel of the events shows it. */
export const headers: Part = {
  name: 'headers',
  ofRequests: true,
  build: ({ trace }) => trace instanceof RequestTrace ? unrecordedChanges(trace) : undefined,
  comparison: [],
  markdown (_, profile) {
    const lines = [...headerHistory(profile)]
      .map(([name, steps]) => visibleLine(`${name}: ${steps.map(stepText).join('; ')}`))
    return linesSection(45, 'What set the response headers', lines)
  }
}

function stepText ({ action, by, source, from }: HeaderStep): string {
  let text = `${action} by ${by}`
  if (source !== undefined) text += ` (${shortFile(source)})`
  if (from !== null) text += `, was ${from}`
  return text
}

function hookLine (event: ListenerEvent): string {
  const { stage, listener, outcome, source = '', duration, changes: { status, headers = [] } = {} } = event
  return presentItems([
    // A hook without a name has that of its stage.
    [...new Set([stage, listener]), outcome].join(' '),
    formatTime(duration),
    status !== undefined && `changed the status from ${status.from} to ${status.to}`,
    // Within a hook that answers, others run.
    ...headers.map(({ name }) => outcome !== 'answered' && `changed ${name}`),
    `added at ${shortFile(source)}`
  ]).join(', ')
}

function entryOf (event: ListenerEvent, i: number): TimelineEntry[] {
  const { stage, listener, outcome, plugin, source, start, duration } = event
  if (outcome === 'skipped') return []
  const title = stageTitle(event)
  const id = `event-${i + 1}`
  const isListener = isLifecycleStage(stage)
  return [{
    step: isListener ? 'listener' : 'hook',
    ofHindsight: isListener && OBSERVERS.has(listener),
    name: isListener ? eventName(event) : presentItems([listener !== stage && stage, eventName(event)]).join(' '),
    source: source ?? null,
    start,
    duration,
    failed: outcome === 'raised',
    detail: [title, plugin, outcome].filter(Boolean).join(', '),
    link: addressOf('events', id),
    id,
    stage: title
  }]
}

function stageTitle ({ stage, pass }: ListenerEvent): string {
  if (pass === 'error') return `${stage}, error pass`
  return stage
}

/** The name of a listener or hook; of a hook without one, where it was added. */
export function eventName ({ stage, listener, source }: ListenerEvent): string {
  if (listener !== stage) return listener
  if (source === undefined) return `${stage} hook`
  return `${stage} hook ${placeLink(source, null).shown}`
}

function listeners ({ events }: Profile, view: PanelView): HtmlValue {
  if (events.length === 0) return noteText('No listener or hook ran.')
  const skipped = events.filter(({ outcome }) => outcome === 'skipped').length
  const rows = events.map((event, i) => [stageRow(event, events[i - 1]), row(event, i + 1, view)])
  const filter = html`<div class="filters"><label><input type="checkbox" class="show-skipped">\
${skipped} not configured or skipped</label></div>`
  return [skipped > 0 && filter, markupTable('Listeners and hooks', COLUMNS, rows, 'rows events')]
}

/** The heading of a stage, where one begins. */
function stageRow (event: ListenerEvent, previous?: ListenerEvent): HtmlValue {
  const title = stageTitle(event)
  if (previous !== undefined && title === stageTitle(previous)) return null
  return html`<tr class="stage"><th scope="colgroup" colspan="${COLUMNS.length}">${title}</th></tr>`
}

function row (event: ListenerEvent, number: number, view: PanelView): SafeHtml {
  const { outcome, duration } = event
  return html`<tr id="event-${number}" class="event event-${outcome}">
<td>${number}</td><th scope="row">${eventName(event)}\
${outcome !== 'ran' && html` <span class="outcome">${outcome}</span>`}</th>
<td class="text">${addedBy(event, view)}</td><td class="text">${effects(event)}</td>
<td class="number">${outcome !== 'skipped' && formatTime(duration)}</td></tr>`
}

function addedBy ({ plugin, source }: ListenerEvent, { editor }: PanelView): HtmlValue {
  if (source === undefined) return null
  if (plugin === undefined) return html`<div class="source">${placeElement(source, editor)}</div>`
  const { shown, href } = placeLink(source, editor)
  const inPlugin = shown.split(`node_modules/${plugin}/`).at(-1)
  const file = href === null ? inPlugin : html`<a href="${href}">${inPlugin}</a>`
  return html`<div class="source" title="${source}"><b>${plugin}</b> ${file}</div>`
}

function effects ({ reason, changes = {} }: ListenerEvent): HtmlValue {
  const { status, headers = [] } = changes
  return [
    reason !== undefined && html`<div class="reason">${reason}</div>`,
    status !== undefined && html`<div>status: ${change(String(status.from), String(status.to))}</div>`,
    ...headers.map(({ name, from, to }) => html`<div><span class="header">${name}</span>: ${change(from, to)}</div>`)
  ]
}

function change (from: string | null, to: string | null): SafeHtml {
  if (from === null) return html`<ins>${to}</ins>`
  if (to === null) return html`<del>${from}</del> (removed)`
  return html`<del>${from}</del> → <ins>${to}</ins>`
}

function headerTable (profile: Profile, view: PanelView): SafeHtml {
  const rows = [...headerHistory(profile)].map(([name, steps]) => html`<tr><th scope="row" class="header">${name}</th>
<td><ol>${steps.map((step) => stepMarkup(step, view))}</ol></td></tr>`)
  if (rows.length === 0) return noteText('None was set.')
  return markupTable('Headers', ['Header', 'History'], rows, 'rows history')
}

function stepMarkup ({ action, by, event, source, to }: HeaderStep, { editor }: PanelView): SafeHtml {
  const author = event === undefined ? html`<strong>${by}</strong>` : html`<a href="#event-${event}">${by}</a>`
  const where = source !== undefined && html` <span class="place">${placeElement(source, editor)}</span>`
  return html`<li>${action} by ${author}${where}${to !== null && html`: <code>${to}</code>`}</li>`
}

// The same listeners handle a success in the main pass and a failure in the error pass: the name has no pass.
// A listener that has nothing to do in one profile, and is missing in the other, makes no difference.
function compareEvents (section: Section, a: Profile, b: Profile): void {
  const eventsOf = ({ events }: Profile): ListenerEvent[] => listOf(events) as unknown as ListenerEvent[]
  const titleOf = ({ stage, listener }: ListenerEvent): string =>
    `${stage} ${listener === stage ? 'hook' : listener}`
  for (const [one, other] of alignItems(eventsOf(a), eventsOf(b), titleOf)) {
    const event = one ?? other
    if (event === undefined || OBSERVERS.has(event.listener)) continue
    const isOfOne = one === undefined || other === undefined
    const follows = isOneFailed(a, b) && (event.pass === 'error' || isSuccess(one === undefined ? b : a))
    if (isOfOne && (event.outcome === 'skipped' || follows)) continue
    section.value(titleOf(event), eventText(one), eventText(other))
  }
}

function eventText (event: ListenerEvent | undefined): string | undefined {
  if (event === undefined) return undefined
  return presentItems([event.outcome, event.reason]).join(': ')
}

const MAX_NAME = 200
const MAX_VALUE = 4_096

/** Headers as the profile stores them: masked, and long values truncated. */
export function shownHeaders (
  headers: Readonly<Record<string, unknown>>,
  mask: Mask
): Record<string, string | string[]> {
  return mask.headers(Object.fromEntries(Object.entries(headers).map(([name, value]) =>
    [name, truncated(value)])))
}

function truncated (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(truncated)
  if (typeof value === 'string') return cutText(value, MAX_VALUE)
  return value
}

/** The data of `headers`: header changes that belong to no event; `after` is the number of events before. */
function unrecordedChanges ({ recording: { events }, mask }: RequestTrace): { changes: object[] } | undefined {
  if (events === null) return undefined
  const shown = (name: string, value: Parameters<typeof shownValue>[1]): string | null => {
    const text = shownValue(name, value, mask.header)
    if (text === null) return null
    return cutText(text, MAX_VALUE)
  }
  const changes = events.unrecordedChanges().map(({ name, from, to, ...code }) =>
    ({ name: cutText(name, MAX_NAME), from: shown(name, from), to: shown(name, to), ...code }))
  return { changes }
}

/** One change of a response header. */
export interface HeaderStep extends Pick<HeaderChange, 'from' | 'to'> {
  action: 'set' | 'changed' | 'removed'
  /** The listener, the hook, or other code: `handler`, `route hooks`, `error handler`, `Fastify`, … */
  by: string
  /** The number of the event. */
  event?: number
  /** The place of the hook or of the route, `file:line`. */
  source?: string
}

/** The changes of each response header in order; the headers are in the order of their first change. */
export function headerHistory (profile: Pick<Profile, 'collectors' | 'events'>): Map<string, HeaderStep[]> {
  const ofEvents = profile.events.flatMap((event, i) => (event.changes?.headers ?? []).map((change): Data =>
    ({ ...change, by: eventName(event), event: i + 1, source: event.source, after: i + 0.5 })))
  const others = listOf(dataOf(profile, 'headers').changes)
  const all = [...ofEvents, ...others].sort((a, b) => Number(a.after) - Number(b.after))
  const byName = groupedBy(all, ({ name }) => String(name))
  return new Map([...byName].map(([name, changes]) => [name, changes.map(stepOf)]))
}

function stepOf ({ by, event, source, from, to }: Data): HeaderStep {
  const step = { from: typeof from === 'string' ? from : null, to: typeof to === 'string' ? to : null }
  let action: HeaderStep['action'] = 'changed'
  if (step.to === null) action = 'removed'
  else if (step.from === null) action = 'set'
  return {
    action,
    by: String(by),
    ...(typeof event === 'number' && { event }),
    ...(typeof source === 'string' && { source }),
    ...step
  }
}
