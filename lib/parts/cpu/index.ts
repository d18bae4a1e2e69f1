import { readAsset } from '../../view/asset.js'
import { counted, visibleLine } from '../../view/visible.js'
import { html } from '../../view/html.js'
import { failed, lead, milliseconds, note, section, table } from '../../view/components.js'
import type { Part } from '../part.js'
import {
  callTreeOf, CODE_KINDS, isIdle, percent, readCpuRecord, refusalOf, type Call, type CpuFunction, type FunctionTime
} from './record.js'

const MAX_FUNCTIONS = 30
const ROW_HEIGHT = 20
const MAX_ROWS = 100
const MAX_FRAMES = 2_000
/** Shares of the width: narrower calls have no frame, narrower frames no text. */
const MIN_WIDTH = 0.0015
const MIN_TEXT_WIDTH = 0.02

/** The CPU profile of the request: a flame graph and the functions that took most time. */
export const cpu: Part = {
  name: 'cpu',
  panel: {
    label: 'CPU',
    group: 'overview',
    render (_, { collectors: { cpu }, token }, view) {
      const refusal = refusalOf(cpu)
      if (refusal !== undefined) return lead(refusal)
      const record = readCpuRecord(cpu)
      if (record === null) return failed('panel', 'the recording cannot be read')
      const { root, idle, busy, heaviest } = callTreeOf(record)
      const rows = heaviest.slice(0, MAX_FUNCTIONS).map((time) => functionRow(time, busy))
      return lead(`${milliseconds(busy / 1000)} busy and ${milliseconds(idle / 1000)} idle ` +
        `in ${milliseconds(record.duration)}`) +
        note('Of the whole process while the request ran, other requests included, for at most 30 seconds.') +
        note(`${counted(record.samples, 'sample')}, one each ${record.interval} µs. Recording slows the code down.`) +
        html`<p class="note"><a href="${view.base ?? '.'}/${token}/cpu" download>Download as .cpuprofile</a>, ` +
        html`for Chrome DevTools or VS Code.</p>` +
        section('Flame graph', flameGraph(root, busy)) +
        section('Heaviest functions',
          table('Heaviest functions', ['Function', ['Self'], ['Total'], 'Code'], rows, 'heaviest'))
    }
  },
  style: readAsset(import.meta.url, './style.css')
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

/** A bar. Its position and width are shares of the whole width. */
interface Frame {
  call: Call
  row: number
  x: number
  width: number
}

/** An icicle: a bar for each call below its caller, as wide as its time. The table shows the same to screen readers. */
function flameGraph (root: Call, busy: number): string {
  if (busy <= 0) return note('The processor was idle.')
  const frames = framesOf(root, busy)
  const height = ((frames.at(-1)?.row ?? 0) + 1) * ROW_HEIGHT
  return legend(frames) + html`<svg class="flame" width="100%" height="${height}" aria-hidden="true">!${
    frames.map((frame) => bar(frame, busy))}</svg>`
}

// Idle time is not in the graph: the root is as wide as the time of work.
function framesOf (root: Call, busy: number): Frame[] {
  const frames: Frame[] = [{ call: { ...root, total: busy }, row: 0, x: 0, width: 1 }]
  // Row by row, so that the limit hides the deepest calls.
  for (const { call, row, x } of frames) {
    let left = x
    for (const callee of call.callees.filter((one) => !isIdle(one))) {
      const width = callee.total / busy
      const isShown = width >= MIN_WIDTH && row + 1 < MAX_ROWS && frames.length < MAX_FRAMES
      if (isShown) frames.push({ call: callee, row: row + 1, x: left, width })
      left += width
    }
  }
  return frames
}

function bar ({ call, row, x, width }: Frame, busy: number): string {
  const { name, file, kind } = call.function
  const label = file === '' ? name : `${name}, ${placeOf(call.function)}`
  const title = visibleLine(`${label}: ${milliseconds(call.total / 1000)} (${percent(call.total, busy)})`)
  const text = html`<text x="4" y="14">${visibleLine(name)}</text>`
  const place = html`x="${(x * 100).toFixed(3)}%" y="${row * ROW_HEIGHT}" width="${(width * 100).toFixed(3)}%"`
  return html`<svg class="frame code-${kind}" !${place} height="${ROW_HEIGHT - 1}"><title>${title}</title>` +
    html`<rect width="100%" height="100%"/>!${width < MIN_TEXT_WIDTH ? '' : text}</svg>`
}

function legend (frames: readonly Frame[]): string {
  const kinds = Object.entries(CODE_KINDS).filter(([kind]) => frames.some(({ call }) => call.function.kind === kind))
  return html`<ul class="legend" aria-label="Legend">!${kinds.map(([kind, label]) =>
    html`<li><svg class="swatch code-${kind}" viewBox="0 0 10 10" aria-hidden="true">` +
    html`<rect width="10" height="10"/></svg>${label}</li>`)}</ul>`
}
