import { counted, wordFor } from '../../view/counted.js'
import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { failed, lead, milliseconds, note, section, table } from '../pages/components.js'
import { addressOf, collectorPanel, fieldOf } from '../panels/panel.js'
import { callTreeOf, CODE_KINDS, percent, readCpuRecord, refusalOf } from './record.js'
import type { CallTree, CodeKind, CpuFunction, CpuRecord, FunctionTime } from './record.js'

const MAX_FUNCTIONS = 30
const ROW_HEIGHT = 20
const MAX_ROWS = 100
const MAX_FRAMES = 2_000
/** Shares of the width: narrower calls have no frame, narrower frames no text. */
const MIN_WIDTH = 0.0015
const MIN_TEXT_WIDTH = 0.02
/** The id of the flame graph's section. */
const FRAGMENT = 'flame'
const TIME_LIMIT = 'The recording ended before the response: it reached its time limit.'
const CLOSED = 'The recording ended when the connection was closed.'

/** The CPU profile of the request: a flame graph and the functions that took most time. */
export const cpuPanel = collectorPanel('cpu', 'CPU', 'overview', {
  render (_, { collectors: { cpu }, token }, view) {
    const refusal = refusalOf(cpu)
    if (refusal !== undefined) return lead(refusal)
    const record = readCpuRecord(cpu)
    if (record === null) return failed('its data cannot be shown')
    const tree = callTreeOf(record)
    const { idle, busy, heaviest } = tree
    const requested = Number(/^\d{1,6}$/.exec(fieldOf(view, 'call'))?.[0] ?? 0)
    const top = requested < tree.totals.length ? requested : 0
    const rows = heaviest.slice(0, MAX_FUNCTIONS).map((time) => functionRow(time, busy))
    return lead(`${milliseconds(busy / 1000)} busy and ${milliseconds(idle / 1000)} idle ` +
      `in ${milliseconds(record.duration)}`) +
      remarks(record).map(note).join('') +
      html`<p class="note"><a href="${view.base ?? '.'}/${token}/cpu" download>Download as .cpuprofile</a>, ` +
      html`for Chrome DevTools or VS Code.</p>` +
      section('Flame graph', flameGraph(tree, top), FRAGMENT) +
      section('Heaviest functions',
        table('Heaviest functions', ['Function', ['Self'], ['Total'], 'Code'], rows, 'heaviest'))
  }
})

/** What a reader of the figures has to know. */
function remarks ({ others, interval, startup, end, leftOut, samples }: CpuRecord): string[] {
  const meanwhile = others === 0
    ? 'no other request ran meanwhile.'
    : `${counted(others, 'other request')} ran meanwhile and ${wordFor(others, 'is', 'are')} included.`
  return [
    `Of the whole process while the request ran: ${meanwhile}`,
    `${counted(samples, 'sample')}, one each ${interval} µs. The recorder took ${milliseconds(startup)} to start, ` +
      'which the waterfall includes. Code runs slower while it is recorded, especially at first.',
    ...(end === 'time' ? [TIME_LIMIT] : []),
    ...(end === 'gone' ? [CLOSED] : []),
    ...(leftOut === undefined
      ? []
      : [`To limit the size, calls of less than ${milliseconds(leftOut / 1000)} are merged as “(left out)”.`])
  ]
}

function functionRow ({ function: { name, file, line, kind }, self, total }: FunctionTime, busy: number): string {
  const place = file === '' ? '' : html` <span class="file">${visibleLine(placeOf({ file, line }))}</span>`
  return html`<tr><th scope="row">${visibleLine(name)}!${place}</th><td class="number">${milliseconds(self / 1000)} ` +
    html`<span class="share">${percent(self, busy)}</span></td><td class="number">${milliseconds(total / 1000)}</td>` +
    html`<td><span class="kind code-${kind}">${CODE_KINDS[kind]}</span></td></tr>`
}

function placeOf ({ file, line }: Pick<CpuFunction, 'file' | 'line'>): string {
  return line === 0 ? file : `${file}:${line}`
}

interface Frame {
  call: number
  row: number
  /** Shares of the whole width. */
  x: number
  width: number
}

/**
 * An icicle: a bar for each call below its caller, as wide as its time. It begins with the callers of `top`, each a
 * link back. The table shows the same to screen readers.
 */
function flameGraph (tree: CallTree, top: number): string {
  const { frames, callers, hidden } = framesOf(tree, top)
  if (frames.length === 0) return note('The processor was idle.')
  const kinds = new Set(frames.map(({ call }) => tree.functionOf(call).kind))
  const height = ((frames.at(-1)?.row ?? 0) + 1) * ROW_HEIGHT
  const name = visibleLine(tree.functionOf(top).name)
  const all = html`<p class="note">Below ${name} only. <a href="${linkTo(0)}">Show all</a></p>`
  return (top === 0 ? '' : all) + legend(kinds) +
    html`<svg class="flame" width="100%" height="${height}" aria-hidden="true">!${
      frames.map((frame) => bar(tree, frame, frame.row < callers))}</svg>` +
    (hidden === 0
      ? ''
      : note(`${counted(hidden, 'call is', 'calls are')} too narrow or too deep to be shown: ` +
      'click on a bar to see what is below it.'))
}

function framesOf (tree: CallTree, top: number): { frames: Frame[], callers: number, hidden: number } {
  const { totals, children, busy } = tree
  const whole = top === 0 ? busy : totals[top] as number
  if (whole <= 0) return { frames: [], callers: 0, hidden: 0 }
  const above = tree.callersOf(top)
  const frames = [...above, top].map((call, row): Frame => ({ call, row, x: 0, width: 1 }))
  let hidden = 0
  // Row by row, so that the limit hides the deepest calls.
  for (let i = above.length; i < frames.length; i++) {
    const { call, row, x } = frames[i] as Frame
    let left = x
    for (const child of children[call] as number[]) {
      if (tree.isIdle(child)) continue
      const width = totals[child] as number / whole
      const isShown = width >= MIN_WIDTH && row + 1 < above.length + MAX_ROWS && frames.length < MAX_FRAMES
      if (isShown) frames.push({ call: child, row: row + 1, x: left, width })
      else hidden++
      left += width
    }
  }
  return { frames, callers: above.length, hidden }
}

function bar (tree: CallTree, { call, row, x, width }: Frame, isCaller: boolean): string {
  const { name, file, line, kind } = tree.functionOf(call)
  const time = call === 0 ? tree.busy : tree.totals[call] as number
  const label = file === '' ? name : `${name}, ${placeOf({ file, line })}`
  const title = visibleLine(`${label}: ${milliseconds(time / 1000)} (${percent(time, tree.busy)})`)
  const text = html`<text x="4" y="14">${visibleLine(width > 0.25 ? label : name)}</text>`
  const place = html`x="${(x * 100).toFixed(3)}%" y="${row * ROW_HEIGHT}" width="${(width * 100).toFixed(3)}%"`
  const className = `frame code-${kind}${isCaller ? ' is-caller' : ''}`
  return html`<a href="${linkTo(call)}" tabindex="-1"><svg class="${className}" !${place} ` +
    html`height="${ROW_HEIGHT - 1}"><title>${title}</title><rect width="100%" height="100%"/>` +
    html`!${width < MIN_TEXT_WIDTH ? '' : text}</svg></a>`
}

function legend (shown: ReadonlySet<CodeKind>): string {
  const kinds = Object.entries(CODE_KINDS).filter(([kind]) => shown.has(kind as CodeKind))
  return html`<ul class="legend" aria-label="Legend">!${kinds.map(([kind, label]) =>
    html`<li><svg class="swatch code-${kind}" viewBox="0 0 10 10" aria-hidden="true">` +
    html`<rect width="10" height="10"/></svg>${label}</li>`)}</ul>`
}

function linkTo (call: number): string {
  return addressOf('cpu', call === 0 ? [] : [['call', String(call)]], FRAGMENT)
}
