import type { Profile } from '../../profile.js'
import { bytes, failed, json, milliseconds, note, pairs, rows, section } from '../../ui/components.js'
import { dataOf, failureOf, isObject } from '../panel.js'
import type { Data, Panel } from '../panel.js'

const TIMES: Readonly<Record<string, string>> = {
  handlerStart: 'handler began at', handler: 'handler', serialization: 'serialisation', firstByte: 'first byte at'
}
const COLUMNS = { listener: 'Listener', stage: 'Stage', outcome: 'Outcome', duration: 'Duration' }
const MAX_LISTENERS = 100

/** Where the time went. */
export const performancePanel: Panel = {
  name: 'performance',
  label: 'Performance',
  render: profile => section('Time', pairs('Time', times(profile))) + collected(profile) +
    section('Listeners, the slowest first', rows('Listeners', COLUMNS, listeners(profile), 'No listener was reached.'))
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

function listeners (profile: Profile): Data[] {
  return profile.events.filter(({ outcome }) => outcome !== 'skipped')
    .toSorted((a, b) => b.duration - a.duration).slice(0, MAX_LISTENERS)
    .map(({ listener, stage, outcome, duration }) => ({ listener, stage, outcome, duration: milliseconds(duration) }))
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

function usage ({ cpuUser, cpuSystem, heapBefore, heapAfter, loopDelay }: Data): string {
  return note('Of the whole process while the request ran, other requests included.') + pairs('Process', {
    'CPU time': `${milliseconds(cpuUser)} user, ${milliseconds(cpuSystem)} system`,
    'heap in use': `${bytes(heapBefore)} before, ${bytes(heapAfter)} after`,
    'event loop delayed by up to': milliseconds(loopDelay)
  })
}
