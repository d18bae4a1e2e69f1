import { listener, Skip } from '../lib/full/listener.js'
import { recordingOf } from '../lib/lifecycle/state.js'

const nothingRaised = new Skip('nothing was raised')

/** Flattens and masks the error, in an error pass, for the diagnostic page and the profile. */
export const error = listener('kernel.controller_arguments', 'error', async (app) => {
  if (app.hindsight.recording === 'none') return 'not in debug mode'
  const { exceptionsOf } = await import('../lib/errors/masked-exceptions.js')
  return (request) => {
    const recording = recordingOf(request)
    if (recording.failure === null) return nothingRaised
    recording.measureOwn(() => exceptionsOf(request))
  }
})
