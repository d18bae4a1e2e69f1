import type { Profile } from '../../profile.js'
import { failed, json, milliseconds, pairs, section } from '../../ui/components.js'
import { failureOf, isObject } from '../panel.js'
import type { Data, Panel } from '../panel.js'

/** Where the time went. */
export const performancePanel: Panel = {
  name: 'performance',
  label: 'Performance',
  render: profile => section('Time', pairs('Time', times(profile))) + collected(profile)
}

function times (profile: Profile): Data {
  const slowest = profile.events.reduce<Profile['events'][number] | undefined>(
    (most, event) => most === undefined || event.duration > most.duration ? event : most, undefined)
  const listeners = profile.events.reduce((sum, event) => sum + event.duration, 0)
  return {
    total: milliseconds(profile.duration),
    ...(slowest !== undefined && {
      'all listeners': milliseconds(listeners),
      'slowest listener': `${slowest.listener} (${slowest.stage}), ${milliseconds(slowest.duration)}`
    })
  }
}

function collected (profile: Profile): string {
  const failure = failureOf(profile, 'performance')
  if (failure !== undefined) return failed(failure)
  const data = profile.collectors.performance
  if (data === undefined) return ''
  return section('Collected', isObject(data) ? pairs('Collected', data) : json(data))
}
