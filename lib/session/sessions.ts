import { promisify } from 'node:util'
import fastifyCookie from '@fastify/cookie'
import fastifySession from '@fastify/session'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SessionSettings } from '../options.js'
import { stateOf } from '../state.js'
import { collectHooks, runHooks } from '../hosting.js'
import { cookiesOf } from '../security/login-session.js'
import { guardedStore, MemorySessionStore } from './session-store.js'

/** Registers @fastify/cookie and @fastify/session, whose hooks the listeners run. Throws for an invalid setting. */
export async function openSessions (app: FastifyInstance, settings: SessionSettings) {
  const { secret = '', cookieName = 'sessionId', rolling = false, store: givenStore } = settings
  if ([secret].flat().some(({ length }) => length < 32)) {
    throw new Error('session.secret (SESSION_SECRET) is missing or too short: at least 32 characters are needed')
  }
  const { secure = 'auto' } = settings.cookie ?? {}
  // `auto` is decided when the session is saved, by the scheme that trusted proxies report.
  const cookie = { sameSite: 'lax', ...settings.cookie, secure: secure === 'auto' ? false : secure }
  const guarded = givenStore && guardedStore(givenStore)
  const store = guarded ?? new MemorySessionStore()
  const readSession = promisify(store.get.bind(store))
  if (guarded !== undefined) app.service.readinessChecks.push(() => readSession('hindsight-probe'))
  app.decorateRequest('session', {
    getter (this: FastifyRequest) { return use(this) as FastifyRequest['session'] },
    setter (this: FastifyRequest, session: object | null) { stateOf(this).session = session }
  })
  const cookies = await collectHooks(app, fastifyCookie as never, {}, { name: '@fastify/cookie' })
  const options = { ...settings, cookieName, rolling, store, secret, saveUninitialized: false, cookie }
  const { onRequest = [], onSend = [] } = await collectHooks(
    app, fastifySession as never, options, { name: 'hindsight/session', ignoredDecorators: ['session'] })

  function use (request: FastifyRequest): unknown {
    const state = stateOf(request)
    if (state.sessionError !== undefined) throw state.sessionError
    if (state.session === undefined) {
      // Before the slot of the listener there are no cookies and no session.
      if (!(request.cookies as object | null)) return undefined
      // This is synchronous: the store is in memory, or the request has no session cookie.
      runHooks(onRequest, request, null)
    }
    state.sessionUsed = true
    return state.session
  }

  /** Reads the session of a request; if that fails, its use throws the error. */
  async function read (request: FastifyRequest): Promise<void> {
    try {
      await runHooks(onRequest, request, null)
    } catch (error) {
      stateOf(request).sessionError = error
    }
  }

  /** Saves a changed session. */
  async function save (request: FastifyRequest, reply: FastifyReply): Promise<void> {
    // The session that the cookie names is unavailable: it must not be replaced by the new one.
    if (stateOf(request).sessionError !== undefined) return
    const session = sessionOf(request)
    const isChanged = session !== undefined && (rolling || session.isModified())
    // Another request has ended the session: saving would restore it, and undo a logout.
    if (isChanged && isLoaded(request) && await readSession(session.sessionId) == null) return
    const { scheme } = app.hindsight.originOf(request)
    if (session !== undefined && secure === 'auto' && scheme === 'https') session.cookie.secure = true
    // Browsers refuse the value without `Secure`.
    if (session?.cookie.secure === false && session.cookie.sameSite === 'none') session.cookie.sameSite = 'lax'
    // @fastify/session compares `request.protocol`.
    await runHooks(onSend, Object.create(request, { protocol: { value: scheme } }), reply, null)
  }

  /** Whether the session of a request is the one that its cookie names. */
  function isLoaded (request: FastifyRequest): boolean {
    const session = sessionOf(request)
    const value = cookiesOf(request)[cookieName]
    return session !== undefined && value?.startsWith(`${session.sessionId}.`) === true
  }

  // The hooks of @fastify/cookie call back synchronously.
  function parseCookies (request: FastifyRequest, reply: FastifyReply): void {
    runHooks(cookies.onRequest ?? [], request, reply)
  }

  function setCookies (request: FastifyRequest, reply: FastifyReply): void {
    runHooks(cookies.onSend ?? [], request, reply, null)
  }

  /** `isEager`: whether sessions are read in the slot of the listener, and not when they are first used. */
  return { isEager: guarded !== undefined, parseCookies, read, isLoaded, save, setCookies }
}

/** The session of a request; undefined after it was destroyed, and for a path outside that of the cookie. */
function sessionOf (request: FastifyRequest) {
  const session = stateOf(request).session as Partial<FastifyRequest['session']> | null | undefined
  return session?.sessionId === undefined ? undefined : session as FastifyRequest['session']
}
