import { listener, Skip } from '../lib/lifecycle/listener.js'

export interface ReferrerPolicyOptions {
  /** Policies; browsers use the last one that they know (Referrer Policy, section 4.1). False for none. */
  referrerPolicy?: false | string[]
}

const DEFAULT = ['no-referrer', 'strict-origin-when-cross-origin']
// Referrer Policy, section 3.
const POLICIES = [
  'no-referrer', 'no-referrer-when-downgrade', 'origin', 'origin-when-cross-origin', 'same-origin', 'strict-origin',
  'strict-origin-when-cross-origin', 'unsafe-url'
]
const kept = new Skip('the route has set the header')

/** Sets `Referrer-Policy`. */
export const referrerPolicy = listener('kernel.response', 'referrer-policy', (
  _app, { referrerPolicy: policies = DEFAULT }: ReferrerPolicyOptions
) => {
  if (policies === false) return 'not configured'
  const wrong = policies.find((policy) => !POLICIES.includes(policy))
  if (wrong !== undefined || policies.length === 0) {
    throw new Error(
      `referrerPolicy: ${JSON.stringify(wrong ?? policies)} is no policy; known are ${POLICIES.join(', ')}`
    )
  }
  const value = policies.join(', ')
  return (_request, reply) => {
    if (reply.hasHeader('referrer-policy')) return kept
    reply.header('referrer-policy', value)
  }
})
