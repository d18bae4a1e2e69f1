import fastifySession from '@fastify/session'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { host, runHooks } from '../lifecycle/hosting.js'
import { stateOf } from '../lifecycle/request-state.js'
import type { SessionSettings } from '../options.js'
import { guardedStore, MemorySessionStore, readSession, SessionStoreError } from './session-store.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The session; null after it was destroyed. */
    session?: object | null | undefined
    /** The reply that cookies are set on, from the slot of the session listener on. */
    cookieReply?: FastifyReply
    sessionTouched?: boolean | undefined
    /** Why the session of the request could not be read. */
    sessionError?: SessionStoreError
  }
}

declare module '../lifecycle/services.js' {
  interface Services {
    sessionCookie?: { name: string }
  }
}

/** The sessions of an application. */
export type Sessions = Awaited<ReturnType<typeof openSessions>>

/**
 * Registers @fastify/session, whose hooks the session listeners run, and decorates `request.session`. Throws at an
 * invalid setting, with its name. Of two concurrent requests that change one session the last one to save wins.
 */
export async function openSessions (app: FastifyInstance, settings: SessionSettings) {
  const {
    secret, cookieName = 'sessionId', cookiePrefix = '', rolling = false, store: ownStore, storeTimeout = 2_000
  } = settings
  if ([secret ?? ''].flat().some(({ length }) => length < 32)) {
    throw new Error('session.secret (SESSION_SECRET) is missing or too short: at least 32 characters are needed')
  }
  const cookie = { path: '/', httpOnly: true, sameSite: 'lax', secure: 'auto', ...settings.cookie } as const
  const guarded = ownStore && guardedStore(ownStore, storeTimeout)
  const store = guarded ?? new MemorySessionStore()
  if (guarded !== undefined) app.hindsight.needs.push(() => readSession(guarded, 'hindsight-probe'))
  app.hindsight.sessionCookie = { name: cookieName }
  app.decorateRequest('session', {
    getter (this: FastifyRequest) { return use(this) as FastifyRequest['session'] },
    setter (this: FastifyRequest, session: object | null) { stateOf(this).session = session }
  })
  const options = {
    ...settings, cookieName, cookiePrefix, rolling, store, secret, saveUninitialized: false, cookie: { ...cookie }
  }
  const hooks = await host(app, fastifySession as never, options, { name: 'hindsight/session', withhold: ['session'] })

  /** Reads or begins the session. */
  function start (request: FastifyRequest, reply: FastifyReply): undefined | Promise<void> {
    return runHooks(hooks.get('onRequest') ?? [], viewOf(request), reply)
  }

  function use (request: FastifyRequest): unknown {
    const state = stateOf(request)
    if (state.sessionError !== undefined) throw state.sessionError
    if (state.session === undefined) {
      // Before the slot of the listener there is no session.
      if (state.cookieReply === undefined) return undefined
      // This is synchronous: the store is in memory, or the request has no session cookie.
      start(request, state.cookieReply)
    }
    state.sessionTouched = true
    return state.session
  }

  /** Reads the session of a request; false if the store is unavailable: its use throws then. */
  async function read (request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    try {
      await start(request, reply)
      return true
    } catch (error) {
      if (!(error instanceof SessionStoreError)) throw error
      stateOf(request).sessionError = error
      return false
    }
  }

  /** Saves a changed session; false where nothing was saved. */
  async function save (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<boolean> {
    // The session that the cookie names is unavailable: it must not be replaced by the new one.
    if (stateOf(request).sessionError !== undefined) return false
    if (await wasEnded(request)) return false
    setSecure(request)
    await runHooks(hooks.get('onSend') ?? [], viewOf(request), reply, payload)
    return true
  }

  /** Whether the session of a request is the one that its cookie names. */
  function isLoaded (request: FastifyRequest): boolean {
    const id = sessionOf(request)?.sessionId
    const value = app.hindsight.cookiesOf(request)[cookieName]
    return id !== undefined && value?.slice(0, value.lastIndexOf('.')) === `${cookiePrefix}${id}`
  }

  /** Whether another request has ended the session: saving would restore it, and undo a logout. */
  async function wasEnded (request: FastifyRequest): Promise<boolean> {
    const session = sessionOf(request)
    if (session === undefined || !isLoaded(request) || !(rolling || session.isModified())) return false
    return await readSession(store, session.sessionId) == null
  }

  /** A session keeps the attributes of its first cookie: one that began over http gets `Secure` over https. */
  function setSecure (request: FastifyRequest): void {
    const own = sessionOf(request)?.cookie
    if (own === undefined || cookie.secure !== 'auto') return
    if (app.hindsight.originOf(request).scheme === 'https') own.secure = true
    // Browsers ignore a cookie with `SameSite=None` and without `Secure`.
    own.sameSite = own.secure !== true && cookie.sameSite === 'none' ? 'lax' : cookie.sameSite
  }

  /** The request with the scheme that trusted proxies report: @fastify/session reads `request.protocol`. */
  function viewOf (request: FastifyRequest): FastifyRequest {
    const { scheme } = app.hindsight.originOf(request)
    return new Proxy(request, {
      get: (target, name) => name === 'protocol' ? scheme : Reflect.get(target, name) as unknown,
      set: (target, name, value) => Reflect.set(target, name, value)
    })
  }

  /** `isEager`: whether sessions are read in the slot of the listener, and not when they are first used. */
  return { cookieName, isEager: guarded !== undefined, read, isLoaded, save }
}

/** The session of a request as @fastify/session has it; undefined after it was destroyed. */
function sessionOf (request: FastifyRequest) {
  // `destroy` leaves null; for a path outside the cookie's @fastify/session sets an empty object.
  const session = stateOf(request).session as Partial<FastifyRequest['session']> | null | undefined
  return session?.sessionId === undefined ? undefined : session as FastifyRequest['session']
}
