import type { FastifyReply, FastifyRequest } from 'fastify'
import { isPrivate, sessionPart, sessionValues } from 'fastify-hindsight/recorder'
import { stateOf } from '../lib/state.js'
import { listenerPair, Skip, type HookResult } from '../lib/listener.js'
import { hasSession } from '../lib/security/login-session.js'
import { openSessions } from '../lib/session/sessions.js'

const PRIVATE = 'max-age=0, must-revalidate, private'
const noCookies = new Skip('the request has no cookies')
const unavailable = new Skip('the session store is unavailable')
const unused = new Skip('the session was not used, no cookie is set')

const pair = listenerPair('kernel.response', 'session', async (app, options) => {
  const { session: settings = false } = options
  if (settings === false) return 'not configured'
  const sessions = await openSessions(app, settings)
  const { mask } = app.hindsight

  function read (request: FastifyRequest, reply: FastifyReply): HookResult | Promise<HookResult> {
    sessions.parseCookies(request, reply)
    if (request.headers.cookie === undefined) return noCookies
    if (!sessions.isEager || !hasSession(request)) return
    return sessions.read(request).then(() => stateOf(request).sessionError === undefined ? undefined : unavailable)
  }

  function save (request: FastifyRequest, reply: FastifyReply): HookResult | Promise<HookResult> {
    const state = stateOf(request)
    const isUsed = state.sessionUsed === true
    if (state.isRecording) {
      const record = sessionRecord(isUsed ? state.session : undefined, sessions.isLoaded(request))
      state.trace.collect(sessionPart, () => ({ ...record, values: mask.value(record.values) }))
    }
    if (!isUsed) {
      const before = reply.getHeader('set-cookie')
      sessions.setCookies(request, reply)
      return reply.getHeader('set-cookie') === before ? unused : undefined
    }
    // RFC 9111, section 3.5 restricts shared caches only for requests with Authorization.
    const isDefault = reply.getHeader('cache-control') === 'no-cache, private'
    if (isDefault || !isPrivate(reply)) reply.header('cache-control', PRIVATE)
    return sessions.save(request, reply).then(() => { sessions.setCookies(request, reply) })
  }
  return [read, save]
})

/** Makes cookies and `request.session` available. A session in memory is read when it is first used. */
export const session = pair[0]

/** Saves a changed session, sets the cookies, and makes the response private when the session was used. */
export const sessionResponse = pair[1]

/** The values of a session, and its origin. `session`: undefined if it was not used, null if it ended. */
function sessionRecord (session: object | null | undefined, isLoaded: boolean) {
  const { isModified } = (session ?? {}) as { isModified?: () => boolean }
  let origin = null
  if (session) origin = isLoaded ? 'loaded' : 'new'
  if (session === null) origin = 'ended'
  return {
    used: session !== undefined,
    origin,
    changed: isModified?.call(session) === true,
    values: sessionValues(session ?? {})
  }
}
