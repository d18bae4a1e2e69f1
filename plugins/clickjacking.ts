import { ruleFinder } from 'fastify-hindsight/recorder'
import { defineListener, Skip, setOnDocument } from '../lib/listener.js'

const allowed = new Skip('framing is allowed for this path')

/** Sets `X-Frame-Options`. */
export const clickjacking = defineListener('kernel.response', 'clickjacking', (_app, { clickjacking: rules = [] }) => {
  if (rules === false) return 'not configured'
  const ruleOf = ruleFinder(rules)
  return (request, reply) => {
    const value = ruleOf(request)?.frameOptions ?? 'DENY'
    return value === false ? allowed : setOnDocument(reply, 'x-frame-options', value)
  }
})
