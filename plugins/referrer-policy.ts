import { helmetHeader } from '../lib/http/helmet-header.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'

export interface ReferrerPolicyOptions {
  /** Policies in the order of preference, the last one that a browser knows wins (Referrer Policy, section 4.1); false for none. */
  referrerPolicy?: false | string[]
}

const kept = new Skip('the route has set the header')

/** Says how much of a page's URL its links and requests tell. */
export const referrerPolicy = listener('kernel.response', 'referrer-policy',
  async (app, { referrerPolicy: policy = ['no-referrer', 'strict-origin-when-cross-origin'] }: ReferrerPolicyOptions) => {
    if (policy === false) return 'not configured'
    const value = (await helmetHeader(app, 'referrerPolicy', { policy }, 'referrer-policy')).split(',').join(', ')
    return (_request, reply) => {
      if (reply.hasHeader('referrer-policy')) return kept
      reply.header('referrer-policy', value)
    }
  })
