import { listener, Skip } from '../lib/listener.js'
import { recordingOf } from '../packages/hindsight/src/lifecycle/state.js'

const nothingRaised = new Skip('nothing was raised')

/** Flattens and masks the error, in an error pass, for the diagnostic page and the profile. */
export const error = listener('kernel.controller_arguments', 'error', async (app) => {
  if (app.hindsight.recording === 'none') return 'not in debug mode'
  const { exceptionsOf } = await import('../packages/hindsight/src/errors/masked-exceptions.js')
  return (request) => {
    const recording = recordingOf(request)
    if (recording.failure === null) return nothingRaised
    recording.measureOwn(() => exceptionsOf(request))
  }
})
