import fastifySession, { type FastifySessionOptions } from '@fastify/session'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hostCookies, type WriteCookies } from '../kernel/cookies.js'
import { GuardedSessionStore, SessionStoreError } from '../kernel/guarded-session-store.js'
import { host, runHooks, type CaughtHook } from '../kernel/hosting.js'
import { listener, Skip } from '../kernel/listener.js'
import { stateOf } from '../kernel/request-state.js'
import { rememberSession, takeOver } from '../kernel/session-merge.js'
import { MemorySessionStore, shareStore } from '../kernel/session-store.js'
import { sessionRecord, unusedSession } from '../profiler/collectors/session.js'

export interface SessionSettings extends Pick<FastifySessionOptions, 'cookieName' | 'cookiePrefix' | 'rolling' | 'idGenerator'> {
  /** At least 32 characters, or several to rotate: the first signs, all are accepted. */
  secret?: string | string[]
  /** Where sessions are kept; none: in memory, the 10,000 that were used last, a day at most without use. A store that answers later is read at the session's slot, not at first touch. */
  store?: NonNullable<FastifySessionOptions['store']>
  /** What happens while such a store is away: `closed` (the default) answers with 503 whoever needs a session; `open` goes on with a fresh one, which is not kept. */
  storeFailure?: 'closed' | 'open'
  /** Milliseconds after which such a store is away; 2,000 by default, 0 for none. */
  storeTimeout?: number
  /** The cookie's attributes (RFC 6265bis, section 4.1.2); `maxAge` in milliseconds. */
  cookie?: NonNullable<FastifySessionOptions['cookie']>
}

export interface SessionOptions {
  /** Sessions; false for none. */
  session?: false | SessionSettings
}

interface Hosted {
  start: CaughtHook[]
  save: CaughtHook[]
  writeCookies: WriteCookies
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

const hostedOf = new WeakMap<object, Hosted>()
const noCookies = new Skip('the request brought no cookies')
const storeIsAway = new Skip('the store of sessions is away')
const awayOf = new WeakMap<object, SessionStoreError>()
const untouched = new Skip('the session was not used, no cookie is set')

/**
 * Makes cookies and `request.session` available. Neither is the header parsed before somebody asks for a cookie,
 * nor the session's store read before the session is touched; a session that stays empty leaves no trace.
 */
export const session = listener('kernel.request', 'session', async (app, { session: settings = {} }: SessionOptions) => {
  const hosted: Hosted = {
    start: [],
    save: [],
    writeCookies: await hostCookies(app),
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
    if (request.headers.cookie === undefined) return noCookies
    // Nobody can wait for a store at the moment of the first touch.
    if (eager && request.cookies[hosted.cookieName] !== undefined) return startEagerly(app, hosted, request, reply)
  }
})

/** Saves a session that was changed, sets the cookies, and makes the response private when the session was used. */
export const sessionResponse = listener('kernel.response', 'session', (app) => {
  const hosted = hostedOf.get(app.hindsight) as Hosted
  const { writeCookies } = hosted
  const { mask } = app.hindsight
  return (request, reply, payload) => {
    const state = stateOf(request)
    const cookie = state.observed && request.cookies?.[hosted.cookieName] !== undefined
    if (!state.sessionTouched) {
      if (state.observed) state.collect('session', unusedSession(cookie))
      const before = reply.getHeader('set-cookie')
      writeCookies(request, reply, payload)
      return reply.getHeader('set-cookie') === before ? untouched : undefined
    }
    makePrivate(reply)
    const record = state.observed ? sessionRecord(state.session, cookie, cookie && isOwn(request, hosted)) : null
    if (record !== null) state.collect('session', () => ({ ...record, keys: mask.value(record.keys) }))
    const write = (): undefined | Promise<void> => writeCookies(request, reply, payload)
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

// Whether the session is the one that the request's cookie names, by whatever secret that was signed.
function isOwn (request: FastifyRequest, { cookieName, cookiePrefix }: Hosted): boolean {
  const { sessionId } = stateOf(request).session as { sessionId?: string } | null ?? {}
  const value = request.cookies[cookieName]
  return sessionId !== undefined && value?.slice(0, value.lastIndexOf('.')) === `${cookiePrefix}${sessionId}`
}

// A session keeps the attributes of the cookie that it began with; one that began in the clear may go on over https.
function secureCookie (request: FastifyRequest, { cookie: { secure, sameSite } }: Hosted): void {
  const { cookie } = stateOf(request).session as { cookie?: NonNullable<SessionSettings['cookie']> } | null ?? {}
  if (cookie === undefined || secure !== 'auto') return
  if (request.server.hindsight.originOf(request).scheme === 'https') cookie.secure = true
  // Browsers take `None` with `Secure` only.
  cookie.sameSite = cookie.secure !== true && sameSite === 'none' ? 'lax' : sameSite ?? 'lax'
}

// A session that somebody has ended meanwhile must not be brought back by a request that was on its way, nor what was changed in it be undone.
function isStillThere (request: FastifyRequest, hosted: Hosted): boolean | Promise<boolean> {
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

// Who needs the session is told what keeps it away, and nobody else.
function startEagerly (app: FastifyInstance, hosted: Hosted, request: FastifyRequest, reply: FastifyReply): undefined | Skip | Promise<undefined | Skip> {
  const view = schemeView(app, request)
  const goOn = (error: unknown): Skip => {
    if (!(error instanceof SessionStoreError)) throw error
    awayOf.set(stateOf(request), error)
    if (!hosted.opens) return storeIsAway
    passOver(request, error)
    // Without its cookie it is a fresh one, for which nobody is asked.
    runHooks(hosted.start, Object.create(view, { cookies: { value: {} } }), reply)
    return storeIsAway
  }
  try {
    return start(app, hosted, request, reply)?.then(() => undefined, goOn)
  } catch (error) {
    return goOn(error)
  }
}

function passOver (request: FastifyRequest, error: unknown): void {
  if (!(error instanceof SessionStoreError)) throw error
  request.log.warn({ err: error, channel: 'session' }, 'The store of sessions is away; the request goes on without what it keeps')
}

async function openSessions (app: FastifyInstance, settings: SessionSettings, hosted: Hosted): Promise<void> {
  const { secret, cookie, store, storeFailure = 'closed', storeTimeout = 2_000, ...rest } = settings
  if (storeFailure !== 'closed' && storeFailure !== 'open') throw new Error(`session.storeFailure: "${String(storeFailure)}" is neither closed nor open`)
  const length = Array.isArray(secret) ? Math.min(...secret.map((one) => one.length)) : secret?.length ?? 0
  if (length < 32) throw new Error('session.secret (SESSION_SECRET) is missing or too short: at least 32 characters are needed')
  app.decorateRequest('session', {
    getter (this: FastifyRequest) { return touch(this, hosted) },
    setter (this: FastifyRequest, value: unknown) { stateOf(this).session = value }
  } as never)
  const guarded = store && new GuardedSessionStore(store, storeTimeout)
  hosted.store = guarded ?? new MemorySessionStore()
  hosted.opens = storeFailure === 'open'
  if (guarded !== undefined && !hosted.opens) app.hindsight.needs.push(() => guarded.probe())
  hosted.cookieName = rest.cookieName ?? 'sessionId'
  hosted.cookiePrefix = rest.cookiePrefix ?? ''
  hosted.rolling = rest.rolling ?? false
  hosted.cookie = { path: '/', httpOnly: true, sameSite: 'lax', secure: 'auto', ...cookie }
  shareStore(app.hindsight, hosted.store)
  const hooks = await host(app, fastifySession as never, {
    // A session that was only read is not written again.
    rolling: false,
    ...rest,
    store: hosted.store,
    secret,
    saveUninitialized: false,
    cookie: { ...hosted.cookie }
  }, { name: '@fastify/session', withhold: ['session'] })
  hosted.start = hooks.get('onRequest') ?? []
  hosted.save = hooks.get('onSend') ?? []
}

// Reads the session that the cookie names, or begins one.
function start (app: FastifyInstance, hosted: Hosted, request: FastifyRequest, reply: FastifyReply): undefined | Promise<void> {
  const starting = runHooks(hosted.start, schemeView(app, request), reply)
  if (starting !== undefined) return starting.then(() => remember(request, hosted))
  remember(request, hosted)
}

function remember (request: FastifyRequest, hosted: Hosted): void {
  if (isOwn(request, hosted)) rememberSession(stateOf(request).session as object)
}

// The package knows only the scheme that Fastify's own `trustProxy` tells; whom to trust is configured here.
function schemeView (app: FastifyInstance, request: FastifyRequest): FastifyRequest {
  const { scheme } = app.hindsight.originOf(request)
  return scheme === request.protocol ? request : Object.create(request, { protocol: { value: scheme } }) as FastifyRequest
}

function touch (request: FastifyRequest, hosted: Hosted): unknown {
  const state = stateOf(request)
  if (!hosted.opens) {
    const away = awayOf.get(state)
    if (away !== undefined) throw away
  }
  if (state.session === undefined) {
    const reply = state.cookieReply
    // Ahead of the session's slot there is no session yet.
    if (reply === null) return undefined
    const starting = start(request.server, hosted, request, reply)
    if (starting !== undefined) throw new Error('The session store answers later than it is asked: give it as session.store, so that it is read at its slot')
  }
  state.sessionTouched = true
  return state.session
}

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
