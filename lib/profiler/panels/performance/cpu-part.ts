import { html } from '../../../view/html.js'
import { CallTree } from '../../cpu/call-tree.js'
import { readCpuRecord, refusalOf } from '../../cpu/cpu-record.js'
import type { Profile } from '../../profile.js'
import { milliseconds, note, section } from '../../pages/components.js'
import { addressOf, type PanelView } from '../panel.js'
import { percent } from '../cpu/flame.js'
import { visibleLine } from '../../../view/visible.js'

const MOST = 5

/** Where the time of the processor went, in short; or how to find out. */
export function cpuPart (profile: Profile, view: PanelView): string {
  const data = profile.collectors.cpu
  const record = readCpuRecord(data)
  if (record !== null) {
    const tree = new CallTree(record)
    return section('CPU', html`<ol class="cpu-heaviest">!${tree.heaviest(MOST).map(({ function: { name }, self }) =>
      html`<li><span class="function">${visibleLine(name)}</span> ${milliseconds(self / 1000)}, ${percent(self / Math.max(1, tree.busy))}</li>`)}</ol><p><a href="${addressOf('cpu')}">Flame graph and all functions</a></p>`)
  }
  const refusal = refusalOf(data)
  const form = repeatForm(profile, view)
  return refusal === undefined && form === '' ? '' : section('CPU', (refusal === undefined ? '' : note(refusal)) + form)
}

// What may change something is repeated by nobody but who sent it.
function repeatForm ({ token, method }: Profile, { repeatsCpu = false, base = '', formToken = '' }: PanelView): string {
  if (!repeatsCpu || (method !== 'GET' && method !== 'HEAD')) return ''
  return html`<form method="post" action="${base}/${token}/cpu" class="pin-form"><input type="hidden" name="form_token" value="${formToken}"><button type="submit">Repeat with a CPU profile</button>
<span class="note">Sends this ${method} again, with your cookies of this host, and records what the processor does meanwhile.</span></form>`
}
