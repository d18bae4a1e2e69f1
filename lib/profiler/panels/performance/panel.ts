import { script as readScript, style as readStyle } from '../../../view/asset.js'
import type { Profile } from '../../profile.js'
import { bytes, failed, json, milliseconds, note, pairs, section } from '../../pages/components.js'
import { dataOf, failureOf, fieldOf, isObject, PLAIN_VIEW } from '../panel.js'
import type { Data, Panel } from '../panel.js'
import { cpuPart } from './cpu-part.js'
import { waterfall } from './waterfall.js'

const TIMES: Readonly<Record<string, string>> = {
  handlerStart: 'handler began at', handler: 'handler', serialization: 'serialisation', firstByte: 'first byte at'
}

/** Where the time went. */
export const performancePanel: Panel = {
  name: 'performance',
  label: 'Performance',
  group: 'overview',
  always: true,
  problem: (profile) => failureOf(profile, 'performance') !== undefined,
  style: readStyle(import.meta.url, './style.css'),
  script: readScript(import.meta.url, './script.js'),
  render: (profile, view = PLAIN_VIEW) => section('Waterfall', waterfall(profile, fieldOf(view, 'threshold'))) + cpuPart(profile, view) +
    section('Time', pairs('Time', times(profile))) + collected(profile)
}

function times (profile: Profile): Data {
  const slowest = profile.events.reduce<Profile['events'][number] | undefined>(
    (most, event) => most === undefined || event.duration > most.duration ? event : most, undefined)
  const all = profile.events.reduce((sum, event) => sum + event.duration, 0)
  const data = dataOf(profile, 'performance')
  return {
    total: milliseconds(profile.duration),
    ...(slowest !== undefined && {
      'all listeners': milliseconds(all),
      'slowest listener': `${slowest.listener} (${slowest.stage}), ${milliseconds(slowest.duration)}`
    }),
    ...Object.fromEntries(Object.entries(TIMES).filter(([name]) => typeof data[name] === 'number').map(([name, title]) => [title, milliseconds(data[name])]))
  }
}

function collected (profile: Profile): string {
  const failure = failureOf(profile, 'performance')
  if (failure !== undefined) return failed(failure)
  const data = profile.collectors.performance
  if (data === undefined || data === null) return ''
  if (!isObject(data)) return section('Collected', json(data))
  const others = Object.fromEntries(Object.entries(data).filter(([name]) => !(name in TIMES) && name !== 'total' && name !== 'process'))
  return (isObject(data.process) ? section('Process', usage(data.process)) : '') +
    (Object.keys(others).length === 0 ? '' : section('Collected', pairs('Collected', others)))
}

function usage ({ cpuUser, cpuSystem, heapBefore, heapAfter, loopUtilization }: Data): string {
  return note('Of the whole process while the request ran, other requests included.') + pairs('Process', {
    'CPU time': `${milliseconds(cpuUser)} user, ${milliseconds(cpuSystem)} system`,
    'heap in use': `${bytes(heapBefore)} before, ${bytes(heapAfter)} after`,
    'event loop busy': typeof loopUtilization === 'number' ? `${Math.round(loopUtilization * 100)} % of the time` : ''
  })
}
