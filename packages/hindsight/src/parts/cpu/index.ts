import { resolve } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Profile } from '../../store/profile.js'
import { readAsset } from '../../view/asset.js'
import {
  failureNote, leadText, formatTime, noteText, placeElement, placeLink, titledSection, markupTable
} from '../../view/components.js'
import type { EditorLink } from '../../view/editor.js'
import {
  formatCount, html, presentItems, visibleJson, visibleLine, type HtmlValue, type SafeHtml
} from '../../view/text.js'
import type { PanelView, Part, ProfilerPages } from '../part.js'
import { queryField } from '../read.js'
import {
  callTreeOf, CODE_KINDS, CPU_HEADER, cpuProfileOf, cpuRefusal, functionName, functionSource, hotSource, isIdle,
  percentOf, readCpuRecord
} from './record.js'
import { cpuRecord } from './recorder.js'
import type { Call, CpuFunction, CpuRecord, FunctionTime } from './record.js'

const MAX_FUNCTIONS = 10
const ROW_HEIGHT = 20
const MAX_ROWS = 100
const MAX_FRAMES = 1_000
/** Shares of the width: narrower calls have no frame, narrower frames no text. */
const MIN_WIDTH = 0.0015
const MIN_TEXT_WIDTH = 0.02
const MAX_TEXT = 200
/** The file of Fastify that calls handlers. */
const CALLS_HANDLERS = /(?:^|[\\/])fastify[\\/]lib[\\/]handle-request\.js$/

/** The CPU profile of the request: a flame graph and the functions that took most time. */
export const cpu: Part = {
  ...cpuRecord,
  comparison: [],
  panel: {
    label: 'CPU',
    group: 'cpu',
    render (_, profile, view) {
      const { collectors: { cpu }, token } = profile
      const refusal = cpuRefusal(cpu)
      if (refusal !== undefined) return leadText(refusal)
      const record = readCpuRecord(cpu)
      if (record === null) return failureNote('panel', 'the recording cannot be read')
      const tree = callTreeOf(record)
      const { idle, busy, heaviest } = tree
      const nameOf = naming(tree, profile)
      const hot = hottestLine(record)
      const share = hot && percentOf(hot.time, busy)
      const rows = heaviest.slice(0, MAX_FUNCTIONS).map((time) => functionRow(time, busy, nameOf, view.editor))
      return [
        html`<p class="lead">${formatTime(busy / 1000)} busy and ${formatTime(idle / 1000)} idle in \
${formatTime(record.duration)}.${hot && html` Hottest line of your code: <strong>\
${linkTo({ ...hot.function, line: hot.line }, view.editor)}</strong> in ${nameOf(hot.function)}, \
${formatTime(hot.time / 1000)} (${share}).`}</p>`,
        titledSection('Flame graph', flameGraph(tree, view, nameOf)),
        titledSection('Hottest functions',
          markupTable('Hottest functions', ['Function', ['Self'], ['Total'], 'Code'], rows, 'heaviest')),
        noteText('Of the whole process while the request ran, other work included, for at most 30 seconds.'),
        noteText(
          `${formatCount(record.samples, 'sample')}, one each ${record.interval} µs. Recording slows the code down.`
        ),
        html`<p class="note"><a href="${view.base ?? '.'}/${token}/cpu" download>Download as .cpuprofile</a>, \
for Chrome DevTools or VS Code.</p>`
      ]
    }
  },
  markdown (_, { collectors: { cpu } }) {
    const record = readCpuRecord(cpu)
    const text = cpuRefusal(cpu) ?? (record && hottest(record))
    if (text === null) return []
    return [{ order: 45, title: 'CPU profile', text }]
  },
  routes: addDownload,
  replay: { label: 'Record a CPU profile', headers: { [CPU_HEADER]: '1' } },
  style: readAsset(import.meta.url, './style.css')
}

function addDownload (app: FastifyInstance, { optionsOf, profileOf, sendFile, notAvailable }: ProfilerPages): void {
  app.get('/:token/cpu', optionsOf('_profiler_cpu'), async (request, reply) => {
    const { token, collectors: { cpu } } = await profileOf(request)
    const record = readCpuRecord(cpu)
    if (record === null) {
      throw notAvailable(`Profile "${token}" has no CPU profile: ${cpuRefusal(cpu) ?? 'none was requested.'}`)
    }
    return sendFile(reply, `${token}.cpuprofile`, 'application/json; charset=utf-8', visibleJson(cpuProfileOf(record)))
  })
}

function functionRow (
  { function: called, self, total }: FunctionTime, busy: number, nameOf: (called: CpuFunction) => string,
  editor: EditorLink | null
): SafeHtml {
  const { kind } = called
  const name = nameOf(called)
  const line = called.hot?.[0] ?? called.line
  const source = html` <span class="file">${linkTo({ ...called, line }, editor)}</span>`
  return html`<tr><th scope="row">${name !== functionSource(called) && name}${source}</th>
<td class="number">${formatTime(self / 1000)} <span class="share">${percentOf(self, busy)}</span></td>\
<td class="number">${formatTime(total / 1000)}</td>\
<td><span class="kind code-${kind}">${CODE_KINDS[kind]}</span></td></tr>`
}

/** A table of the functions with the longest time in themselves. */
function hottest (record: CpuRecord): string {
  const { busy, heaviest } = callTreeOf(record)
  const line = (numbers: readonly string[], name: string): string =>
    [...numbers.map((number) => number.padStart(9)), visibleLine(name)].join('  ')
  const lines = heaviest.slice(0, MAX_FUNCTIONS).map(({ function: called, self, total }) => {
    const facts = new Set([functionName(called), hotSource(called), CODE_KINDS[called.kind]])
    const numbers = [formatTime(self / 1000), percentOf(self, busy), formatTime(total / 1000)]
    return line(numbers, [...facts].filter(Boolean).join(', '))
  })
  const hot = hottestLine(record)
  const first = hot && `most time in one line: ${hotSource(hot.function)}, ${formatTime(hot.time / 1000)}`
  return presentItems([first, line(['self', 'share', 'total'], 'function'), ...lines]).join('\n')
}

/** The line of the application that took longest, with its microseconds; undefined: none was recorded. */
function hottestLine ({ functions }: CpuRecord): { function: CpuFunction, line: number, time: number } | undefined {
  const [longest] = functions.toSorted((a, b) => (b.hot?.[1] ?? 0) - (a.hot?.[1] ?? 0))
  if (longest?.hot === undefined) return undefined
  const [line, time] = longest.hot
  return { function: longest, line, time }
}

/** The place of a function. Files below the working directory are stored without it. */
function linkTo (called: CpuFunction, editor: EditorLink | null): HtmlValue {
  const source = functionSource(called)
  return called.file !== '' && placeElement(/^\w{2,}:/.test(source) ? source : resolve(source), editor)
}

/** A bar. Its position and width are shares of the whole width. */
interface Frame {
  call: Call
  row: number
  x: number
  width: number
}

/**
 * An icicle: a bar for each call below its caller, as wide as its time. Calls of other code by other code are folded.
 * A link zooms to a call; a search marks functions. `nameOf` names functions, the handler by its route.
 */
function flameGraph (
  { root, calls, busy }: ReturnType<typeof callTreeOf>, view: PanelView,
  nameOf: (called: CpuFunction) => string
): HtmlValue {
  const zoomed = calls[Number(queryField(view, 'call'))] ?? root
  // Idle time is not in the graph: the root is as wide as the time of work.
  const whole = zoomed === root ? busy : zoomed.total
  const isWhole = queryField(view, 'levels') === 'all'
  const text = queryField(view, 'q').slice(0, MAX_TEXT)
  if (whole <= 0) return noteText('The processor was idle.')

  /** What a call made, as far as it is not folded into `shown`, which is the frame above. */
  const shownCallees = (call: Call, shown: Call): Call[] => call.callees.filter((one) => !isIdle(one))
    .flatMap((callee) => {
      const isFolded = !isWhole && callee.function.kind !== 'own' && shown.function.kind !== 'own' &&
        shown.caller !== undefined
      return isFolded ? shownCallees(callee, shown) : [callee]
    })
  const address = (call: Call, levels = isWhole): string => {
    const search = new URLSearchParams({ panel: 'cpu' })
    if (call.caller !== undefined) search.set('call', String(call.index))
    if (levels) search.set('levels', 'all')
    if (text !== '') search.set('q', text)
    return `?${search}`
  }

  const frames: Frame[] = [{ call: zoomed, row: 0, x: 0, width: 1 }]
  // Row by row, so that the limit hides the deepest calls.
  for (const { call, row, x } of frames) {
    let left = x
    for (const callee of shownCallees(call, call)) {
      const width = callee.total / whole
      const isShown = width >= MIN_WIDTH && row + 1 < MAX_ROWS && frames.length < MAX_FRAMES
      if (isShown) frames.push({ call: callee, row: row + 1, x: left, width })
      left += width
    }
  }
  const bar = ({ call, row, x, width }: Frame): SafeHtml => {
    const { file, kind } = call.function
    const name = nameOf(call.function)
    const label = file === '' ? name : `${name}, ${visibleLine(functionSource(call.function))}`
    const time = row === 0 ? whole : call.total
    const isFound = text !== '' && label.toLowerCase().includes(text.toLowerCase())
    return html`<a href="${address(call)}"${isFound && html` class="found"`}\
${width < MIN_TEXT_WIDTH && html` tabindex="-1"`}><svg class="frame code-${kind}" \
x="${(x * 100).toFixed(2)}%" y="${row * ROW_HEIGHT}" width="${(width * 100).toFixed(2)}%" \
height="${ROW_HEIGHT - 1}"><title>${label}: ${formatTime(time / 1000)} (${percentOf(time, whole)})\
</title><rect width="100%" height="100%"/>\
${width >= MIN_TEXT_WIDTH && html`<text x="4" y="14">${name}</text>`}</svg></a>`
  }

  const callers: Call[] = []
  for (let one = zoomed.caller; one !== undefined; one = one.caller) callers.unshift(one)
  const links = callers.filter(({ function: { kind }, caller }) => caller === undefined || kind === 'own' || isWhole)
    .map((one) => html`<a href="${address(one)}">${one === root ? 'All calls' : nameOf(one.function)}</a> › `)
  const path = links.length > 0 &&
    html`<p>${links}<strong>${nameOf(zoomed.function)}</strong> ${formatTime(zoomed.total / 1000)} \
${linkTo(zoomed.function, view.editor)}</p>`
  const hidden = Object.entries({ panel: 'cpu', call: String(zoomed.index), levels: isWhole ? 'all' : '' })
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
  const form = html`<form method="get" class="filters">${hidden}<label>Search functions <input type="search" \
name="q" value="${text}" maxlength="${MAX_TEXT}" autocomplete="off"></label>\
<button type="submit">Search</button><a href="${address(zoomed, !isWhole)}">${
  isWhole ? 'Fold framework levels' : 'Show framework levels'}</a></form>`
  const height = ((frames.at(-1)?.row ?? 0) + 1) * ROW_HEIGHT
  return html`${form}${path}${legend(frames)}<svg class="flame${text !== '' && ' is-searched'}" width="100%" \
height="${height}">${frames.map(bar)}</svg>`
}

/** The function that names functions: the handler has the name of its route. */
function naming ({ calls }: ReturnType<typeof callTreeOf>, { route }: Profile): (called: CpuFunction) => string {
  const called = new Set(calls.filter(({ function: { kind }, caller }) =>
    kind === 'own' && CALLS_HANDLERS.test(caller?.function.file ?? '')).map((call) => call.function))
  const { shown } = placeLink(route?.handler ?? '', null)
  // Handlers of other requests may run, too.
  const handler = [...called].find((one) => called.size === 1 || functionSource(one) === shown)
  return (one) => {
    if (one !== handler) return visibleLine(functionName(one))
    const title = `handler ${route?.name ?? ''}`
    if (one.name === '(anonymous)') return visibleLine(title)
    return visibleLine(`${title}, ${one.name}`)
  }
}

function legend (frames: readonly Frame[]): SafeHtml {
  const kinds = Object.entries(CODE_KINDS).filter(([kind]) => frames.some(({ call }) => call.function.kind === kind))
  return html`<ul class="legend" aria-label="Legend">${kinds.map(([kind, label]) =>
    html`<li><svg class="swatch code-${kind}" viewBox="0 0 10 10" aria-hidden="true">\
<rect width="10" height="10"/></svg>${label}</li>`)}</ul>`
}
