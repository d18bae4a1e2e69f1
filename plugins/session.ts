import type { FastifyReply } from 'fastify'
import { hostCookies } from '../lib/http/cookies.js'
import { awayOf, isOwn, isStillThere, openSessions, passOver, schemeView, secureCookie, startEagerly, type HostedSession, type SessionSettings } from '../lib/session/hosted-session.js'
import { runHooks } from '../lib/lifecycle/hosting.js'
import { listener, Skip } from '../lib/lifecycle/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { sessionRecord, unusedSession } from '../lib/profiler/panels/session-collector.js'

export type { SessionSettings } from '../lib/session/hosted-session.js'

export interface SessionOptions {
  /** Sessions; false for none. */
  session?: false | SessionSettings
}

const hostedOf = new WeakMap<object, HostedSession>()
const noCookies = new Skip('the request brought no cookies')
const untouched = new Skip('the session was not used, no cookie is set')

/**
 * Makes cookies and `request.session` available. A synchronous session store is read when the session is first used;
 * a session that stays empty sets no cookie.
 */
export const session = listener('kernel.request', 'session', async (app, { session: settings = false }: SessionOptions) => {
  const hosted: HostedSession = {
    start: [],
    save: [],
    cookies: await hostCookies(app),
    store: null,
    cookieName: 'sessionId',
    cookiePrefix: '',
    rolling: false,
    cookie: {},
    opens: false
  }
  hostedOf.set(app.hindsight, hosted)
  if (settings !== false) await openSessions(app, settings, hosted)
  const eager = settings !== false && settings.store !== undefined

  return (request, reply) => {
    stateOf(request).cookieReply = reply
    hosted.cookies.parse(request, reply)
    if (request.headers.cookie === undefined) return noCookies
    // A store that answers later cannot be awaited at the first use of the session.
    if (eager && app.hindsight.cookiesOf(request)[hosted.cookieName] !== undefined) return startEagerly(app, hosted, request, reply)
  }
})

/** Saves a session that was changed, sets the cookies, and makes the response private when the session was used. */
export const sessionResponse = listener('kernel.response', 'session', (app) => {
  const hosted = hostedOf.get(app.hindsight) as HostedSession
  const { mask } = app.hindsight
  return (request, reply, payload) => {
    const state = stateOf(request)
    const cookie = state.observed && app.hindsight.cookiesOf(request)[hosted.cookieName] !== undefined
    if (state.sessionTouched !== true) {
      if (state.observed) state.collect('session', unusedSession(cookie))
      const before = reply.getHeader('set-cookie')
      hosted.cookies.write(request, reply, payload)
      return reply.getHeader('set-cookie') === before ? untouched : undefined
    }
    makePrivate(reply)
    const record = state.observed ? sessionRecord(state.session, cookie, cookie && isOwn(request, hosted)) : null
    if (record !== null) state.collect('session', () => ({ ...record, keys: mask.value(record.keys) }))
    const write = (): undefined | Promise<void> => hosted.cookies.write(request, reply, payload)
    // The cookie still names the session that is kept elsewhere.
    if (awayOf.has(state)) return write()
    const saveAndWrite = (there: boolean): undefined | Promise<void> => {
      if (there) secureCookie(request, hosted)
      const saving = there ? runHooks(hosted.save, schemeView(app, request), reply, payload) : undefined
      if (record !== null) record.saved = there && record.changed
      return saving === undefined ? write() : saving.then(write)
    }
    const there = isStillThere(request, hosted)
    const saving = typeof there === 'boolean' ? saveAndWrite(there) : there.then(saveAndWrite)
    if (saving === undefined || !hosted.opens) return saving
    return saving.catch((error: unknown) => {
      passOver(request, error)
      if (record !== null) record.saved = false
      return write()
    })
  }
})

// A response that was made with a session is nobody else's (RFC 9111, section 3.5 is about Authorization only).
function makePrivate (reply: FastifyReply): void {
  const control = reply.getHeader('cache-control')
  if (typeof control === 'string' && control !== 'no-cache, private' && isPrivate(control)) return
  reply.header('cache-control', 'max-age=0, must-revalidate, private')
}

// Only the bare directive is about the whole response: `private="x"` is about a field (RFC 9111, section 5.2.2.7).
function isPrivate (control: string): boolean {
  const directives = control.match(/(?:[^,"]|"(?:[^"\\]|\\.)*")+/g) ?? []
  return directives.some((directive) => /^\s*(?:no-store|private)\s*$/i.test(directive))
}
