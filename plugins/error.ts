import { listener } from '../lib/full/listener.js'

/** Flattens and masks the error, in an error pass, for the diagnostic page and the profile. */
export const error = listener('kernel.controller_arguments', 'error', async (app) => {
  if (app.hindsight.recording === 'none') return 'not in debug mode'
  const { exceptionsOf } = await import('../lib/errors/masked-exceptions.js')
  return { hook: (request) => { exceptionsOf(request) }, when: 'error' }
})
