import { join } from 'node:path'
import autoload from '@fastify/autoload'
import fp from 'fastify-plugin'
import type { FastifyInstance } from 'fastify'
import fastifySession from '@fastify/session'
import { RateLimiterMemory, RateLimiterPostgres } from 'rate-limiter-flexible'
import { createTables, isProfilerPath, openPool } from 'fastify-hindsight/recorder'
import { config } from './config.js'
import { readEnvironment, readServerOptions } from './environment.js'
import { service } from './service.js'
import type { SecuritySettings, ServerSettings, ServiceOptions, ThrottlingSettings } from '../lib/options.js'
import { boundConnections, serverOptions } from '../lib/server-options.js'
import type { SessionStore } from '../lib/session/session-store.js'

// A process that runs this file as TypeScript can load routes in TypeScript.
if (import.meta.url.endsWith('.ts')) process.env.FASTIFY_AUTOLOAD_TYPESCRIPT ??= '1'

/** The server options that belong to the application; fastify-cli takes them with `--options`. */
export const options = serverOptions(readServerOptions())

interface AppOptions {
  /** Options of the service; by default those of the environment and of `config.ts`. */
  service?: ServiceOptions
  /** Limits of clients that are no server options; by default those of the environment. */
  limits?: Partial<ServerSettings>
  /** The folder whose routes are loaded. */
  routesDir?: string
}

/** The application: the lifecycle, and the routes of `routes/`. */
export default fp(async function application (app: FastifyInstance, given: AppOptions) {
  const { service: settings = configuredOptions(readEnvironment().options), limits = readServerOptions() } = given
  const { routesDir = join(import.meta.dirname, '../routes') } = given
  boundConnections(app, limits)
  await app.register(service, await withSharedState(app, { charset: true, ...settings }))
  // The service registers the routes of the profiler.
  await app.register(autoload, { dir: routesDir, ignoreFilter: (path) => isProfilerPath(path) })
}, { fastify: '5.x', name: 'hindsight-application' })

/** The options of the environment with those of `config.ts`, which take precedence. */
export function configuredOptions (environment: ServiceOptions): ServiceOptions {
  const { session, profiler, ...others } = config
  const options = { ...environment, ...others }
  if (session === false) options.session = false
  else if (session !== undefined) options.session = { ...Object(environment.session), ...session }
  if (typeof profiler === 'object') options.profiler = { ...Object(environment.profiler), ...profiler }
  else if (profiler !== undefined) options.profiler = profiler
  return options
}

/** The tables that the instances of a service share besides those of profiles. */
const TABLES = `
create table if not exists hindsight.sessions (
  sid varchar primary key, sess json not null, expire timestamp(6) not null
);
create index if not exists sessions_by_expiry on hindsight.sessions (expire);
create table if not exists hindsight.login_attempts (
  key varchar(255) primary key, points integer not null default 0, expire bigint
);
`
const MAX_CONNECTIONS = 10
/** Milliseconds until an unused session ends, where its cookie has no other time. */
const SESSION_TIME = 24 * 3_600_000

/** Stores sessions and failed logins in PostgreSQL, too, where profiles are: any instance can answer any request. */
async function withSharedState (app: FastifyInstance, options: ServiceOptions): Promise<ServiceOptions> {
  const { profiler, session, security } = options
  const url = typeof profiler === 'object' ? profiler.storage : undefined
  if (typeof url !== 'string' || !/^postgres(?:ql)?:/i.test(url)) return options
  const pool = openPool(url, MAX_CONNECTIONS)
  app.addHook('onClose', async () => { await pool.end() })
  let tables: Promise<void> | undefined
  const prepare = (): Promise<void> => (tables ??= createTables(pool, TABLES))
  app.addHook('onReady', async () => { await prepare().catch(() => { tables = undefined }) })
  const prepared = {
    async query (...query: Parameters<typeof pool.query>) {
      try {
        await prepare()
        return await pool.query(...query)
      } catch (error) {
        // The tables may be missing: the next use checks for them.
        tables = undefined
        throw error
      }
    }
  }
  const hasSession = session !== undefined && session !== false
  return {
    ...options,
    ...(hasSession && { session: { store: await sessionStore(app, prepared), ...session } }),
    ...(security !== undefined && { security: withLimiter(security, prepared) })
  }
}

async function sessionStore (app: FastifyInstance, pool: object): Promise<SessionStore> {
  const { default: connectPgSimple } = await import('connect-pg-simple')
  const Store = connectPgSimple(fastifySession)
  const store = new Store({
    pool,
    schemaName: 'hindsight',
    tableName: 'sessions',
    ttl: SESSION_TIME / 1_000,
    errorLog: (message: unknown, error: unknown) => app.log.warn({ err: error, channel: 'session' }, String(message))
  })
  app.addHook('onClose', async () => { await store.close() })
  return store
}

// While the server is unavailable each instance counts for itself.
function withLimiter (security: SecuritySettings, pool: object): SecuritySettings {
  const limiter: ThrottlingSettings['limiter'] = (options) => new RateLimiterPostgres({
    ...options,
    storeClient: pool,
    storeType: 'pool',
    schemaName: 'hindsight',
    tableName: 'login_attempts',
    tableCreated: true,
    insuranceLimiter: new RateLimiterMemory(options)
  })
  // The security options are checked elsewhere.
  if (!Array.isArray(security.firewalls)) return security
  const firewalls = security.firewalls.map((firewall) => {
    return firewall.throttling === false ? firewall : { ...firewall, throttling: { limiter, ...firewall.throttling } }
  })
  return { ...security, firewalls }
}
