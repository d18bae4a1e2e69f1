import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { callTreeOf, percent, readCpuRecord, refusalOf } from '../cpu/record.js'
import { bytes, failed, milliseconds, note, pairs, pairsSection, postForm, section } from '../pages/components.js'
import type { Profile } from '../profile.js'
import { addressOf, dataOf, failureOf, fieldOf, isObject, PLAIN_VIEW } from './panel.js'
import type { Data, Panel, PanelView } from './panel.js'
import { waterfall } from './waterfall-chart.js'

const CPU_FUNCTIONS = 5

/** Where the time went. */
export const performancePanel: Panel = {
  name: 'performance',
  label: 'Performance',
  group: 'overview',
  always: true,
  problem: (profile) => failureOf(profile, 'performance') !== undefined,
  render: (profile, view = PLAIN_VIEW) =>
    section('Waterfall', waterfall(profile, fieldOf(view, 'threshold'))) + cpuSection(profile, view) +
    pairsSection('Time', timesOf(profile)) + processSection(profile)
}

function timesOf (profile: Profile): Data {
  const { firstByte, handlerStart, handler, serialization } = dataOf(profile, 'performance')
  const times = Object.entries({
    Total: profile.duration,
    'Response ready': firstByte,
    'Handler start': handlerStart,
    Handler: handler,
    Serialization: serialization
  })
  return Object.fromEntries(times.filter(([, time]) => typeof time === 'number')
    .map(([name, time]) => [name, milliseconds(time)]))
}

function processSection (profile: Profile): string {
  const failure = failureOf(profile, 'performance')
  if (failure !== undefined) return failed(failure)
  const { process } = dataOf(profile, 'performance')
  if (!isObject(process)) return ''
  const { heapBefore, heapAfter, loopUtilization: busy } = process
  return section('Process', note('Of the whole process while the request ran, other requests included.') +
    pairs('Process', {
      'Heap in use': `${bytes(heapBefore)} before, ${bytes(heapAfter)} after`,
      'Event loop busy': typeof busy === 'number' ? `${Math.round(busy * 100)} % of the time` : ''
    }))
}

/** The functions that took most CPU time, or the form that repeats the request with a CPU profile. */
function cpuSection (profile: Profile, view: PanelView): string {
  const data = profile.collectors.cpu
  const record = readCpuRecord(data)
  if (record === null) {
    const refusal = refusalOf(data)
    const content = (refusal === undefined ? '' : note(refusal)) + repeatForm(profile, view)
    return content === '' ? '' : section('CPU', content)
  }
  const tree = callTreeOf(record)
  const items = tree.heaviest.slice(0, CPU_FUNCTIONS).map(({ function: { name }, self }) =>
    html`<li><span class="function">${visibleLine(name)}</span> ` +
    html`${milliseconds(self / 1000)}, ${percent(self, tree.busy)}</li>`)
  return section('CPU', html`<ol class="cpu-heaviest">!${items}</ol>` +
    html`<p><a href="${addressOf('cpu')}">Flame graph and all functions</a></p>`)
}

// Only safe methods: repeating another one may repeat its side effects.
function repeatForm ({ token, method }: Profile, { repeatsCpu = false, base = '', formToken = '' }: PanelView): string {
  if (!repeatsCpu || (method !== 'GET' && method !== 'HEAD')) return ''
  return postForm(`${base}/${token}/cpu`, formToken,
    html`<button type="submit">Repeat with a CPU profile</button> <span class="note">Sends this ${method} again, ` +
    'with your cookies for this host, and records a CPU profile.</span>', 'pin-form')
}
