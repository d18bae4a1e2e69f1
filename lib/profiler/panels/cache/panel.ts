import { failed, pairs, section } from '../../pages/components.js'
import { dataOf, failureOf } from '../panel.js'
import type { Panel } from '../panel.js'

const OUTCOMES: Readonly<Record<string, string>> = {
  fresh: 'the copy of the client is fresh: 304',
  stale: 'the copy of the client is stale: the whole answer',
  failed: 'the precondition failed: 412',
  unconditional: 'the request has no precondition: the whole answer'
}

/** What was decided about caching, and why. */
export const cachePanel: Panel = {
  name: 'cache',
  label: 'HTTP cache',
  group: 'delivery',
  problem: profile => failureOf(profile, 'cache') !== undefined || dataOf(profile, 'cache').outcome === 'failed',
  render: profile => {
    const failure = failureOf(profile, 'cache')
    if (failure !== undefined) return failed(failure)
    const { outcome, precondition, deferred, private: why, etag, lastModified, cacheControl, expires, vary, ...others } = dataOf(profile, 'cache')
    return section('Decision', pairs('Decision', {
      outcome: OUTCOMES[String(outcome)] ?? outcome,
      precondition: precondition ?? 'none',
      ...(deferred === true && { 'answered behind': 'the security of the route' }),
      ...(typeof why === 'string' && { 'for its client alone, as': why }),
      ...others
    })) + section('Headers', pairs('Headers', {
      ETag: etag ?? 'none', 'Last-Modified': lastModified ?? 'none', 'Cache-Control': cacheControl ?? 'none', Expires: expires ?? 'none', Vary: vary ?? 'none'
    }))
  }
}
