import { style as readStyle } from '../../../view/asset.js'
import { html } from '../../../view/html.js'
import { visibleLine } from '../../../view/visible.js'
import { CallTree, type FunctionTime } from '../../cpu/call-tree.js'
import { CODE_KINDS, readCpuRecord, refusalOf, type CpuRecord } from '../../cpu/cpu-record.js'
import { failed, lead, milliseconds, note, scrollable, section } from '../../pages/components.js'
import type { Profile } from '../../profile.js'
import { addressOf, failureOf, fieldOf, PLAIN_VIEW, type Panel, type PanelView } from '../panel.js'
import { counted, wordFor } from '../../../view/counted.js'
import { flameGraph, FRAGMENT, percent } from './flame.js'

const MOST = 30
const NUMBER = /^\d{1,6}$/

/** What the processor did, where a request has asked for that. */
export const cpuPanel: Panel = {
  name: 'cpu',
  label: 'CPU',
  group: 'overview',
  problem: (profile) => failureOf(profile, 'cpu') !== undefined,
  style: readStyle(import.meta.url, './style.css'),
  render: (profile, view = PLAIN_VIEW) => {
    const failure = failureOf(profile, 'cpu')
    if (failure !== undefined) return failed(failure)
    const refusal = refusalOf(profile.collectors.cpu)
    if (refusal !== undefined) return lead(refusal)
    const record = readCpuRecord(profile.collectors.cpu)
    return record === null ? failed('its data are not of a form that can be shown') : recorded(profile, record, view)
  }
}

function recorded (profile: Profile, record: CpuRecord, view: PanelView): string {
  const tree = new CallTree(record)
  const call = indexOf(fieldOf(view, 'call'), record.calls.self.length) ?? 0
  const sought = indexOf(fieldOf(view, 'function'), record.functions.length) ?? -1
  const found = record.functions[sought]
  const each = fieldOf(view, 'each') === '1'
  return lead(`${milliseconds(tree.busy / 1000)} of work in ${milliseconds(record.duration)}, ${milliseconds(tree.idle / 1000)} of waiting`) +
    remarks(record).map(note).join('') +
    html`<p class="note"><a href="${view.base ?? '.'}/${profile.token}/cpu" download>Download as .cpuprofile</a>, for Chrome DevTools or VS Code.</p>` +
    section('Flame graph', (found === undefined ? '' : html`<p class="note">Marked: ${visibleLine(found.name)}. <a href="${graph()}">Mark nothing</a></p>`) +
      (call === 0 ? '' : html`<p class="note">Below ${visibleLine(tree.functionOf(call).name)} only. <a href="${graph()}">Show all</a></p>`) +
      flameGraph(tree, { call, sought, each }) +
      html`<p class="note">!${each ? '' : 'Calls of others’ code that only hand on to the next are folded. '}<a href="${graph(['call', String(call)], ['each', each ? '0' : '1'])}">${each ? 'Fold what only hands on' : 'Show each call'}</a></p>`, FRAGMENT) +
    section('Heaviest functions', table(tree))
}

/** All that has to be known to read the figures right. */
function remarks ({ others, interval, startup, end, leftOut, step, samples }: CpuRecord): string[] {
  return [
    others === 0
      ? 'Of the whole process while the request ran; no other request ran meanwhile.'
      : `Of the whole process while the request ran: ${counted(others, 'other request')} ran meanwhile and ${wordFor(others, 'is', 'are')} in these figures too.`,
    `${counted(samples, 'sample')}, about one in ${interval} µs. To start the recorder took ${milliseconds(startup)}, which the waterfall has and this has not; while it records, all is somewhat slower, at first above all, as what was optimized is compiled again.`,
    ...(end === 'time' ? ['The recording was ended before the response: a recording has a limit of time.'] : []),
    ...(end === 'gone' ? ['The recording was ended when the connection was closed.'] : []),
    ...(leftOut === undefined ? [] : [`The recording was larger than a profile may be: calls that took less than ${milliseconds(leftOut / 1000)} stand together as “(left out)”.`]),
    ...(step === undefined ? [] : [`For the same reason the file for download has steps of ${milliseconds(step / 1000)}, and in each only what took longest; the figures here are exact.`])
  ]
}

function table (tree: CallTree): string {
  return scrollable('Heaviest functions', html`<table class="heaviest" aria-label="Heaviest functions"><thead><tr>
<th scope="col">Function</th><th scope="col" class="number">In itself</th><th scope="col" class="number">With calls</th><th scope="col">Code</th></tr></thead><tbody>!${
    tree.heaviest(MOST).map((time) => row(time, tree))}</tbody></table>`)
}

function row ({ index, function: { name, file, line, kind }, self, total }: FunctionTime, tree: CallTree): string {
  const place = file === '' ? '' : `${file}${line === 0 ? '' : `:${line}`}`
  return html`<tr><th scope="row"><a href="${graph(['function', String(index)])}">${visibleLine(name)}</a>!${place === '' ? '' : html` <span class="file">${visibleLine(place)}</span>`}</th>
<td class="number">${milliseconds(self / 1000)} <span class="share">${percent(self / Math.max(1, tree.busy))}</span></td><td class="number">${milliseconds(total / 1000)}</td><td><span class="kind code-${kind}">${CODE_KINDS[kind]}</span></td></tr>`
}

function graph (...fields: ReadonlyArray<readonly [string, string]>): string {
  return addressOf('cpu', fields, FRAGMENT)
}

function indexOf (field: string, length: number): number | undefined {
  return NUMBER.test(field) && Number(field) < length ? Number(field) : undefined
}
