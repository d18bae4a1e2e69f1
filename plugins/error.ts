import { listener } from '../lib/full/listener.js'
import { recordingOf } from '../lib/lifecycle/request-state.js'

/** Flattens and masks the error, in an error pass, for the diagnostic page and the profile. */
export const error = listener('kernel.controller_arguments', 'error', async (app) => {
  if (app.hindsight.recording === 'none') return 'not in debug mode'
  const { exceptionsOf } = await import('../lib/errors/masked-exceptions.js')
  return { hook: (request) => { recordingOf(request).measureOwn(() => exceptionsOf(request)) }, when: 'error' }
})
