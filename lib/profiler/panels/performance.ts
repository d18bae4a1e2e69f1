import { html } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import { callTreeOf, percent, readCpuRecord, refusalOf } from '../cpu/record.js'
import { failed, milliseconds, note, pairsSection, section } from '../pages/components.js'
import type { Profile } from '../profile.js'
import { addressOf, dataOf, failureOf, fieldOf, PLAIN_VIEW } from './panel.js'
import type { Panel, PanelView } from './panel.js'
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
    timeSection(profile)
}

function timeSection (profile: Profile): string {
  const failure = failureOf(profile, 'performance')
  if (failure !== undefined) return failed(failure)
  const { firstByte, handlerStart, handler, serialization } = dataOf(profile, 'performance')
  const times = Object.entries({
    Total: profile.duration,
    'Response ready': firstByte,
    'Handler start': handlerStart,
    Handler: handler,
    Serialization: serialization
  })
  return pairsSection('Time', Object.fromEntries(times.filter(([, time]) => typeof time === 'number')
    .map(([name, time]) => [name, milliseconds(time)])))
}

/** The functions that took most CPU time, or the link to replay the request with a CPU profile. */
function cpuSection (profile: Profile, view: PanelView): string {
  const data = profile.collectors.cpu
  const record = readCpuRecord(data)
  if (record === null) {
    const refusal = refusalOf(data)
    const replay = view.replayable !== true
      ? ''
      : html`<p><a href="${view.base ?? '.'}/${profile.token}/replay">Replay it with a CPU profile…</a></p>`
    const content = (refusal === undefined ? '' : note(refusal)) + replay
    return content === '' ? '' : section('CPU', content)
  }
  const tree = callTreeOf(record)
  const items = tree.heaviest.slice(0, CPU_FUNCTIONS).map(({ function: { name }, self }) =>
    html`<li><span class="function">${visibleLine(name)}</span> ` +
    html`${milliseconds(self / 1000)}, ${percent(self, tree.busy)}</li>`)
  return section('CPU', html`<ol class="cpu-heaviest">!${items}</ol>` +
    html`<p><a href="${addressOf('cpu')}">Flame graph and all functions</a></p>`)
}
