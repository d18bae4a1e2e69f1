import fastifySession from '@fastify/session'
import type { FastifyInstance } from 'fastify'
import { RateLimiterMemory, RateLimiterPostgres } from 'rate-limiter-flexible'
import type { HindsightOptions } from './options.js'
import type { SessionSettings } from '../plugins/session.js'
import type { SecuritySettings } from '../lib/security/security.js'

/** The tables of what the instances of a service share beside profiles. */
const TABLES = `
create table hindsight.sessions (sid varchar primary key, sess json not null, expire timestamp(6) not null);
create index sessions_by_expiry on hindsight.sessions (expire);
create table hindsight.login_attempts (key varchar(255) primary key, points integer not null default 0, expire bigint);
`
const MAX_CONNECTIONS = 10
/** Milliseconds that a session is kept without use, where its cookie says nothing else. */
const SESSION_TIME = 24 * 3_600_000

/**
 * The options of a service whose profiles are in PostgreSQL: its sessions and failed logins are kept there too, so that any instance can answer
 * any request. What the application configures itself stays as it is. The server may be unavailable at the start.
 */
export async function withSharedState (app: FastifyInstance, options: HindsightOptions): Promise<HindsightOptions> {
  const { profiler, session, security } = options
  const url = typeof profiler === 'object' && typeof profiler.storage === 'string' && /^postgres(?:ql)?:/i.test(profiler.storage) ? profiler.storage : null
  if (url === null) return options
  const { createTables, openPool } = await import('../lib/postgres.js')
  const pool = openPool(url, MAX_CONNECTIONS)
  app.addHook('onClose', async () => { await pool.end() })
  let preparing: Promise<void> | null = null
  const prepare = async (): Promise<void> => await (preparing ??= createTables(pool, 'hindsight.sessions', TABLES).catch((error: unknown) => {
    preparing = null
    throw error
  }))
  app.addHook('onReady', async () => { await prepare().catch(() => {}) })
  // With the first query at the latest the tables are there.
  const prepared = { query: async (...query: Parameters<typeof pool.query>) => { await prepare(); return await pool.query(...query) } }
  return {
    ...options,
    ...(session !== undefined && session !== false && { session: { store: await sessionStore(app, prepared), ...session } }),
    ...(security !== undefined && { security: withLimiter(security, prepared) })
  }
}

async function sessionStore (app: FastifyInstance, pool: object): Promise<NonNullable<SessionSettings['store']>> {
  const { default: connectPgSimple } = await import('connect-pg-simple').catch((error: unknown) => {
    throw new Error('STORAGE_URL: sessions in PostgreSQL need the package connect-pg-simple: npm install connect-pg-simple', { cause: error })
  })
  const Store = connectPgSimple(fastifySession as never)
  const store = new Store({
    pool: pool as never,
    schemaName: 'hindsight',
    tableName: 'sessions',
    ttl: SESSION_TIME / 1_000,
    errorLog: (message: unknown, error: unknown) => app.log.warn({ err: error, channel: 'session' }, String(message))
  })
  app.addHook('onClose', async () => { await store.close() })
  return store as unknown as NonNullable<SessionSettings['store']>
}

// While the server is unavailable each instance counts for itself.
function withLimiter (security: SecuritySettings, pool: object): SecuritySettings {
  const limiter = (options: { keyPrefix: string, points: number, duration: number }): RateLimiterPostgres => new RateLimiterPostgres({
    ...options,
    storeClient: pool,
    storeType: 'pool',
    schemaName: 'hindsight',
    tableName: 'login_attempts',
    tableCreated: true,
    insuranceLimiter: new RateLimiterMemory(options)
  })
  // What is wrong with them is reported where they are read.
  if (!Array.isArray(security.firewalls)) return security
  const firewalls = security.firewalls.map((firewall) => {
    return firewall.throttling === false ? firewall : { ...firewall, throttling: { limiter, ...firewall.throttling } }
  })
  return { ...security, firewalls }
}
