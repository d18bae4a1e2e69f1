import fastifyCookie from '@fastify/cookie'
import type { FastifyReply } from 'fastify'
import { host, runHooks, type CaughtHooks } from '../lib/lifecycle/hosting.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { sessionRecord } from '../lib/profiler/panels/session-collector.js'
import { openSessions, type Sessions } from '../lib/session/sessions.js'

declare module '../lib/lifecycle/services.js' {
  interface Services {
    /** The hooks of @fastify/cookie. */
    cookieHooks: CaughtHooks
    /** Null where the option `session` is false. */
    sessions: Sessions | null
  }
}

const PRIVATE = 'max-age=0, must-revalidate, private'
const noCookies = new Skip('the request has no cookies')
const unavailable = new Skip('the session store is unavailable')
const unused = new Skip('the session was not used, no cookie is set')

/**
 * Makes cookies and `request.session` available. A session in memory is read when it is first used; an empty session
 * sets no cookie.
 */
export const session = listener('kernel.request', 'session', async (app, { session: settings = false }) => {
  const cookieHooks = await host(app, fastifyCookie as never, {}, { name: '@fastify/cookie' })
  const sessions = settings === false ? null : await openSessions(app, settings)
  Object.assign(app.hindsight, { cookieHooks, sessions })
  const parsers = cookieHooks.get('onRequest') ?? []
  return (request, reply) => {
    stateOf(request).cookieReply = reply
    runHooks(parsers, request, reply)
    if (request.headers.cookie === undefined) return noCookies
    if (sessions?.isEager !== true || app.hindsight.cookiesOf(request)[sessions.cookieName] === undefined) return
    return sessions.read(request, reply).then((isRead) => isRead ? undefined : unavailable)
  }
})

/** Saves a changed session, sets the cookies, and makes the response private when the session was used. */
export const sessionResponse = listener('kernel.response', 'session', (app) => {
  const { cookieHooks, cookiesOf, mask, sessions } = app.hindsight
  const writers = cookieHooks.get('onSend') ?? []
  return (request, reply, payload) => {
    const state = stateOf(request)
    const used = state.sessionTouched === true ? sessions : null
    const hasCookie = sessions !== null && cookiesOf(request)[sessions.cookieName] !== undefined
    const isLoaded = state.observed && hasCookie && sessions.isLoaded(request)
    const record = state.observed && sessionRecord(used === null ? undefined : state.session, hasCookie, isLoaded)
    if (record) state.collect('session', () => ({ ...record, keys: mask.value(record.keys) }))
    if (used === null) {
      const before = reply.getHeader('set-cookie')
      runHooks(writers, request, reply, payload)
      return reply.getHeader('set-cookie') === before ? unused : undefined
    }
    makePrivate(reply)
    return used.save(request, reply, payload).then((isSaved) => {
      if (record) record.saved = isSaved && record.changed
      return runHooks(writers, request, reply, payload)
    })
  }
})

// RFC 9111, section 3.5 restricts shared caches only for requests with Authorization.
function makePrivate (reply: FastifyReply): void {
  const control = reply.getHeader('cache-control')
  if (typeof control === 'string' && control !== 'no-cache, private' && isPrivate(control)) return
  reply.header('cache-control', PRIVATE)
}

// `private="x"` applies to one header only (RFC 9111, section 5.2.2.7).
function isPrivate (control: string): boolean {
  const directives = control.match(/(?:[^,"]|"(?:[^"\\]|\\.)*")+/g) ?? []
  return directives.some((directive) => /^\s*(?:no-store|private)\s*$/i.test(directive))
}
