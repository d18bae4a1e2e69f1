import fastifySession, { type FastifySessionOptions } from '@fastify/session'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HostedCookies } from '../http/cookies.js'
import { GuardedSessionStore, SessionStoreError } from './guarded-session-store.js'
import { host, runHooks, type CaughtHook } from '../lifecycle/hosting.js'
import { Skip } from '../lifecycle/listener.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { rememberSession, takeOver } from './session-merge.js'
import { MemorySessionStore, shareStore } from './session-store.js'

export interface SessionSettings extends Pick<FastifySessionOptions, 'cookieName' | 'cookiePrefix' | 'rolling' | 'idGenerator'> {
  /** At least 32 characters, or several to rotate: the first signs, all are accepted. One that is missing, as a variable that is not set, stops the start. */
  secret?: string | string[] | undefined
  /** Where sessions are kept; none: in memory, the 10,000 that were used last, a day at most without use. A store that answers later is read at the session's slot, not at first touch. */
  store?: NonNullable<FastifySessionOptions['store']>
  /** What happens while such a store is away: `closed` (the default) answers with 503 whoever needs a session; `open` goes on with a fresh one, which is not kept. */
  storeFailure?: 'closed' | 'open'
  /** Milliseconds after which such a store is away; 2,000 by default, 0 for none. */
  storeTimeout?: number
  /** The cookie's attributes (RFC 6265bis, section 4.1.2); `maxAge` in milliseconds. */
  cookie?: NonNullable<FastifySessionOptions['cookie']>
}

/** @fastify/session as it is hosted, and what it was told. */
export interface HostedSession {
  start: CaughtHook[]
  save: CaughtHook[]
  cookies: HostedCookies
  /** Null without sessions. */
  store: NonNullable<SessionSettings['store']> | null
  cookieName: string
  cookiePrefix: string
  rolling: boolean
  /** What the cookie is to have; `secure: 'auto'` by what the request came over. */
  cookie: NonNullable<SessionSettings['cookie']>
  /** Whether a request goes on where the store is away. */
  opens: boolean
}

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    session?: unknown
    /** The reply that cookies are set on, from the slot of the session listener on. */
    cookieReply?: FastifyReply
    sessionTouched?: boolean | undefined
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

/** How many things are kept beside the sessions, as a mark for each user who was logged out everywhere. */
const MAX_BESIDE = 100_000

const storeIsAway = new Skip('the store of sessions is away')
/** What keeps the session of a request away, by its state. */
export const awayOf = new WeakMap<object, SessionStoreError>()

/** Whether the session is the one that the request's cookie names, by whatever secret that was signed. */
export function isOwn (request: FastifyRequest, { cookieName, cookiePrefix }: HostedSession): boolean {
  const { sessionId } = stateOf(request).session as { sessionId?: string } | null ?? {}
  const value = servicesOf(request).cookiesOf(request)[cookieName]
  return sessionId !== undefined && value?.slice(0, value.lastIndexOf('.')) === `${cookiePrefix}${sessionId}`
}

/** A session keeps the attributes of the cookie that it began with; one that began in the clear may go on over https. */
export function secureCookie (request: FastifyRequest, { cookie: { secure, sameSite } }: HostedSession): void {
  const { cookie } = stateOf(request).session as { cookie?: NonNullable<SessionSettings['cookie']> } | null ?? {}
  if (cookie === undefined || secure !== 'auto') return
  if (servicesOf(request).originOf(request).scheme === 'https') cookie.secure = true
  // Browsers take `None` with `Secure` only.
  cookie.sameSite = cookie.secure !== true && sameSite === 'none' ? 'lax' : sameSite ?? 'lax'
}

/** A session that somebody has ended meanwhile must not be brought back by a request that was on its way, nor what was changed in it be undone. */
export function isStillThere (request: FastifyRequest, hosted: HostedSession): boolean | Promise<boolean> {
  const { store, rolling } = hosted
  const session = stateOf(request).session as { sessionId?: string, isModified?: () => boolean, isSaved?: () => boolean } | null | undefined
  const { sessionId } = session ?? {}
  const saves = rolling || session?.isModified?.() === true
  if (!saves || store === null || sessionId === undefined || !isOwn(request, hosted)) return true
  let there: boolean | null = null
  const asking = new Promise<boolean>((resolve, reject) => {
    store.get(sessionId, (error, found) => {
      if (error && (error as NodeJS.ErrnoException).code !== 'ENOENT') return reject(error)
      there = found !== null && found !== undefined
      if (there && session?.isSaved?.() === false) takeOver(session, found as object)
      resolve(there)
    })
  })
  return there ?? asking
}

/** Who needs the session is told what keeps it away, and nobody else. */
export function startEagerly (app: FastifyInstance, hosted: HostedSession, request: FastifyRequest, reply: FastifyReply): undefined | Skip | Promise<undefined | Skip> {
  const view = schemeView(app, request)
  const goOn = (error: unknown): Skip => {
    if (!(error instanceof SessionStoreError)) throw error
    awayOf.set(stateOf(request), error)
    if (!hosted.opens) return storeIsAway
    passOver(request, error)
    // Without its cookie it is a fresh one, for which nobody is asked.
    runHooks(hosted.start, viewWith(view, { cookies: {} }), reply)
    return storeIsAway
  }
  try {
    return start(app, hosted, request, reply)?.then(() => undefined, goOn)
  } catch (error) {
    return goOn(error)
  }
}

/** Goes on where the store is away; throws what it is not told of. */
export function passOver (request: FastifyRequest, error: unknown): void {
  if (!(error instanceof SessionStoreError)) throw error
  request.log.warn({ err: error, channel: 'session' }, 'The store of sessions is away; the request goes on without what it keeps')
}

/** Hosts the package, and makes `request.session` available. */
export async function openSessions (app: FastifyInstance, settings: SessionSettings, hosted: HostedSession): Promise<void> {
  const { secret, cookie, store, storeFailure = 'closed', storeTimeout = 2_000, ...rest } = settings
  if (storeFailure !== 'closed' && storeFailure !== 'open') throw new Error(`session.storeFailure: "${String(storeFailure)}" is neither closed nor open`)
  const length = Array.isArray(secret) ? Math.min(...secret.map((one) => one.length)) : secret?.length ?? 0
  if (length < 32) throw new Error('session.secret (SESSION_SECRET) is missing or too short: at least 32 characters are needed')
  app.decorateRequest('session', {
    getter (this: FastifyRequest) { return touch(this, hosted) as FastifyRequest['session'] },
    setter (this: FastifyRequest, value: unknown) { stateOf(this).session = value }
  })
  const guarded = store && new GuardedSessionStore(store, storeTimeout)
  hosted.store = guarded ?? new MemorySessionStore()
  hosted.opens = storeFailure === 'open'
  if (guarded !== undefined && !hosted.opens) app.hindsight.needs.push(() => guarded.probe())
  hosted.cookieName = rest.cookieName ?? 'sessionId'
  hosted.cookiePrefix = rest.cookiePrefix ?? ''
  hosted.rolling = rest.rolling ?? false
  hosted.cookie = { path: '/', httpOnly: true, sameSite: 'lax', secure: 'auto', ...cookie }
  const { path: cookiePath, sameSite, secure } = hosted.cookie
  app.hindsight.sessionCookie = { name: hosted.cookieName, path: cookiePath, sameSite, secure }
  // Apart from the sessions in memory, which anybody can make so many of that what was kept longest goes.
  shareStore(app.hindsight, guarded ?? new MemorySessionStore({ limit: MAX_BESIDE }))
  const hooks = await host(app, fastifySession as never, {
    // A session that was only read is not written again.
    rolling: false,
    ...rest,
    store: hosted.store,
    secret,
    saveUninitialized: false,
    cookie: { ...hosted.cookie }
  }, { name: 'hindsight/session', withhold: ['session'] })
  hosted.start = hooks.get('onRequest') ?? []
  hosted.save = hooks.get('onSend') ?? []
}

// Reads the session that the cookie names, or begins one.
function start (app: FastifyInstance, hosted: HostedSession, request: FastifyRequest, reply: FastifyReply): undefined | Promise<void> {
  const starting = runHooks(hosted.start, schemeView(app, request), reply)
  if (starting !== undefined) return starting.then(() => remember(request, hosted))
  remember(request, hosted)
}

function remember (request: FastifyRequest, hosted: HostedSession): void {
  if (isOwn(request, hosted)) rememberSession(stateOf(request).session as object)
}

/** The package knows only the scheme that Fastify's own `trustProxy` tells; whom to trust is configured here. */
export function schemeView (app: FastifyInstance, request: FastifyRequest): FastifyRequest {
  const { scheme } = app.hindsight.originOf(request)
  return scheme === request.protocol ? request : viewWith(request, { protocol: scheme })
}

// A request that says something else in places. As the prototype of another object it would get a shape of its own in V8, and be slow from there on.
function viewWith (request: FastifyRequest, other: Readonly<Record<string, unknown>>): FastifyRequest {
  return new Proxy(request, {
    get: (target, name) => typeof name === 'string' && Object.hasOwn(other, name) ? other[name] : Reflect.get(target, name) as unknown
  })
}

function touch (request: FastifyRequest, hosted: HostedSession): unknown {
  const state = stateOf(request)
  if (!hosted.opens) {
    const away = awayOf.get(state)
    if (away !== undefined) throw away
  }
  if (state.session === undefined) {
    const reply = state.cookieReply
    // Ahead of the session's slot there is no session yet.
    if (reply === undefined) return undefined
    const starting = start(request.server, hosted, request, reply)
    if (starting !== undefined) throw new Error('The session store answers later than it is asked: give it as session.store, so that it is read at its slot')
  }
  state.sessionTouched = true
  return state.session
}
