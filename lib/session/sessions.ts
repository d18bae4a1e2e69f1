import fastifySession, { type FastifySessionOptions } from '@fastify/session'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { host, runHooks } from '../lifecycle/hosting.js'
import { stateOf } from '../lifecycle/request-state.js'
import {
  GuardedSessionStore, MemorySessionStore, SessionStoreError, shareStore, type SessionStore
} from './session-store.js'

type PackageOptions = Pick<FastifySessionOptions, 'cookieName' | 'cookiePrefix' | 'rolling' | 'idGenerator'>
type Cookie = NonNullable<FastifySessionOptions['cookie']>

export interface SessionSettings extends PackageOptions {
  /**
   * At least 32 characters, or several secrets to rotate: the first signs, all are accepted. A missing one stops the
   * start.
   */
  secret?: string | string[] | undefined
  /**
   * Where sessions are stored; by default in memory: the 10,000 that were used last, for at most a day without use.
   * Another store is read in the slot of the session listener, when the request has a session cookie.
   */
  store?: SessionStore
  /**
   * What happens while such a store is unavailable: `closed` (the default) answers 503 to requests that use the
   * session;
   * `open` continues with a new session, which is not stored.
   */
  storeFailure?: 'closed' | 'open'
  /** Milliseconds after which such a store counts as unavailable; 2,000 by default, 0 for no limit. */
  storeTimeout?: number
  /** The cookie's attributes (RFC 6265bis, section 4.1.2); `maxAge` in milliseconds. */
  cookie?: Cookie
}

/** What the profile and the save of a session use of an object of @fastify/session. */
interface SessionObject {
  sessionId: string
  cookie: Cookie
  isModified: () => boolean
}

/** The sessions of an application. */
export interface Sessions {
  readonly cookieName: string
  /** Whether sessions are read in the slot of the listener, and not when they are first used. */
  readonly isEager: boolean
  /**
   * Reads the session of a request; rejects with a `SessionStoreError` only in `closed` mode, when the session is used.
   */
  read: (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>
  /** Whether the session of a request is the one that its cookie names. */
  isLoaded: (request: FastifyRequest) => boolean
  /** Saves a changed session; false where nothing was saved. */
  save: (request: FastifyRequest, reply: FastifyReply, payload: unknown) => Promise<boolean>
}

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    session?: unknown
    /** The reply that cookies are set on, from the slot of the session listener on. */
    cookieReply?: FastifyReply
    sessionTouched?: boolean | undefined
    /** Why the session of the request could not be read. */
    sessionError?: SessionStoreError
  }
}

/** The attributes of the session's cookie that decide when browsers send it. */
export interface SessionCookie {
  name: string
  sameSite: boolean | string | undefined
  path: string | undefined
  secure: boolean | string | undefined
}

declare module '../lifecycle/services.js' {
  interface Services {
    sessionCookie?: SessionCookie
  }
}

/** Maximum number of marks of users who were logged out everywhere. */
const MAX_MARKS = 100_000

/**
 * Registers @fastify/session, whose hooks the session listeners run, and decorates `request.session`. Throws at an
 * invalid setting, with its name. Of two concurrent requests that change one session the last one to save wins.
 */
export async function openSessions (app: FastifyInstance, settings: SessionSettings): Promise<Sessions> {
  const {
    secret, cookieName = 'sessionId', cookiePrefix = '', rolling = false,
    store: ownStore, storeFailure = 'closed', storeTimeout = 2_000
  } = settings
  if (storeFailure !== 'closed' && storeFailure !== 'open') {
    throw new Error(`session.storeFailure: "${String(storeFailure)}" is neither closed nor open`)
  }
  const isOpen = storeFailure === 'open'
  if ([secret ?? ''].flat().some(({ length }) => length < 32)) {
    throw new Error('session.secret (SESSION_SECRET) is missing or too short: at least 32 characters are needed')
  }
  const cookie = { path: '/', httpOnly: true, sameSite: 'lax', secure: 'auto', ...settings.cookie } as const
  const guarded = ownStore === undefined ? null : new GuardedSessionStore(ownStore, storeTimeout)
  const store = guarded ?? new MemorySessionStore()
  if (guarded !== null && !isOpen) app.hindsight.needs.push(() => guarded.probe())
  app.hindsight.sessionCookie = {
    name: cookieName, path: cookie.path, sameSite: cookie.sameSite, secure: cookie.secure
  }
  // A memory store of its own: clients can create any number of sessions, which would displace the marks.
  shareStore(app.hindsight, guarded ?? new MemorySessionStore({ limit: MAX_MARKS }))
  app.decorateRequest('session', {
    getter (this: FastifyRequest) { return use(this) as FastifyRequest['session'] },
    setter (this: FastifyRequest, session: unknown) { stateOf(this).session = session }
  })
  const options = {
    ...settings, cookieName, cookiePrefix, rolling, store, secret, saveUninitialized: false, cookie: { ...cookie }
  }
  const hooks = await host(app, fastifySession as never, options, { name: 'hindsight/session', withhold: ['session'] })

  function start (request: FastifyRequest, reply: FastifyReply): undefined | Promise<void> {
    return runHooks(hooks.get('onRequest') ?? [], viewOf(request), reply)
  }

  function use (request: FastifyRequest): unknown {
    const state = stateOf(request)
    if (state.sessionError !== undefined && !isOpen) throw state.sessionError
    if (state.session === undefined) {
      // Before the slot of the listener there is no session.
      if (state.cookieReply === undefined) return undefined
      // This is synchronous: the store is in memory, or the request has no session cookie.
      start(request, state.cookieReply)
    }
    state.sessionTouched = true
    return state.session
  }

  async function read (request: FastifyRequest, reply: FastifyReply): Promise<boolean> {
    try {
      await start(request, reply)
      return true
    } catch (error) {
      if (!(error instanceof SessionStoreError)) throw error
      stateOf(request).sessionError = error
      if (!isOpen) return false
      warn(request, error)
      // Without a cookie @fastify/session begins a new session, and does not read the store.
      runHooks(hooks.get('onRequest') ?? [], viewOf(request, { cookies: {} }), reply)
      return false
    }
  }

  async function save (request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<boolean> {
    // The session that the cookie names is unavailable: it must not be replaced by the new one.
    if (stateOf(request).sessionError !== undefined) return false
    try {
      if (await wasEnded(request)) return false
      setSecure(request)
      await runHooks(hooks.get('onSend') ?? [], viewOf(request), reply, payload)
      return true
    } catch (error) {
      if (!isOpen || !(error instanceof SessionStoreError)) throw error
      warn(request, error)
      return false
    }
  }

  function isLoaded (request: FastifyRequest): boolean {
    const id = sessionOf(request)?.sessionId
    const value = app.hindsight.cookiesOf(request)[cookieName]
    return id !== undefined && value?.slice(0, value.lastIndexOf('.')) === `${cookiePrefix}${id}`
  }

  /** Whether another request has ended the session meanwhile: saving would restore it, and undo a logout. */
  async function wasEnded (request: FastifyRequest): Promise<boolean> {
    const session = sessionOf(request)
    if (session === null || !isLoaded(request) || !(rolling || session.isModified())) return false
    return await new Promise((resolve, reject) => {
      store.get(session.sessionId, (error, stored) => {
        if (error) reject(error)
        else resolve(stored === null || stored === undefined)
      })
    })
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
  function viewOf (request: FastifyRequest, others: Readonly<Record<string, unknown>> = {}): FastifyRequest {
    const values: Record<string | symbol, unknown> = { ...others, protocol: app.hindsight.originOf(request).scheme }
    return new Proxy(request, {
      get: (target, name) => Object.hasOwn(values, name) ? values[name] : Reflect.get(target, name) as unknown,
      set: (target, name, value) => Reflect.set(target, name, value)
    })
  }

  return { cookieName, isEager: guarded !== null, read, isLoaded, save }
}

// `destroy` of @fastify/session leaves null; for a path outside the cookie's it sets an empty object.
function sessionOf (request: FastifyRequest): SessionObject | null {
  const session = stateOf(request).session as Partial<SessionObject> | null | undefined
  return session?.sessionId === undefined ? null : session as SessionObject
}

function warn (request: FastifyRequest, error: SessionStoreError): void {
  request.log.warn(
    { err: error, channel: 'session' }, 'The session store is unavailable; the request continues without its session'
  )
}
