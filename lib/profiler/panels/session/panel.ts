import { failed, note, pairs, section } from '../../pages/components.js'
import { dataOf, failureOf } from '../panel.js'
import type { Panel } from '../panel.js'

const ORIGINS: Readonly<Record<string, string>> = { new: 'new', loaded: 'loaded from the store', ended: 'ended by the request' }

/** What became of the session: never its id, never its values. */
export const sessionPanel: Panel = {
  name: 'session',
  label: 'Session',
  group: 'security',
  problem: profile => failureOf(profile, 'session') !== undefined,
  render: profile => {
    const failure = failureOf(profile, 'session')
    if (failure !== undefined) return failed(failure)
    const { used, cookie, origin, changed, saved, keys } = dataOf(profile, 'session')
    if (used !== true) return note(cookie === true ? 'The client has a session; nobody looked at it.' : 'The session was not used, and the client has none.')
    return section('Session', pairs('Session', {
      id: 'hidden', session: ORIGINS[String(origin)] ?? origin, 'cookie sent': yesNo(cookie), changed: yesNo(changed), saved: yesNo(saved)
    })) + section('Keys', pairs('Keys', keys, 'The session is empty.'))
  }
}

function yesNo (value: unknown): string {
  return value === true ? 'yes' : 'no'
}
