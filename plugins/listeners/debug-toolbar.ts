import { listener, Skip } from '../kernel/listener.js'

const noProfile = new Skip('the request has no profile, or its client may not see it')

/** Tells the client where the profile of its request is. */
export const debugToolbar = listener('kernel.response', 'debug-toolbar', (app) => {
  const { debug, maySeeDebug } = app.hindsight
  if (!debug) return 'not in debug mode'
  return (request, reply) => {
    const profile = app.hindsight.profileOf?.(request) ?? null
    if (profile === null || !maySeeDebug(request)) return noProfile
    reply.header('x-debug-token-link', profile.url)
  }
})
