import { defineListener, setIfAbsent } from '../lib/listener.js'

const DEFAULT = ['no-referrer', 'strict-origin-when-cross-origin']

/** Sets `Referrer-Policy`. */
export const referrerPolicy = defineListener('kernel.response', 'referrer-policy', (
  _app, { referrerPolicy: policies = DEFAULT }
) => {
  if (policies === false) return 'not configured'
  if (policies.length === 0) throw new Error('referrerPolicy: the list is empty; use false to send no header')
  const value = policies.join(', ')
  return (_request, reply) => setIfAbsent(reply, 'referrer-policy', value)
})
