import type { ServerOptions } from './processes.js'

interface Side extends ServerOptions {
  variant: string
}

/** Main-thread CPU of one of the queries of a request, above that of the base. */
interface QueryGoal { microsecondsOfQuery: number, queries: number }

/** One row of the table: a server, the server with which it is compared, and the goal. */
export interface Scenario {
  name: string
  /** The name of all rows of one kind. */
  group?: string
  what: string
  subject: Side
  against: string
  base: Side
  /** The variant of the reference commit that takes turns with both; none without it. */
  reference?: string
  /** The least ratio of the base's CPU time a request to ours, or the most microseconds of CPU that ours may take. */
  goal: { ratio: number } | { microseconds: number } | QueryGoal
  path?: string
  headers?: Readonly<Record<string, string>>
  /** Requests that are measured, and the most before them, where they differ from the defaults. */
  requests?: number
  warmUp?: number
}

const bare: Side = { variant: 'fastify:bare' }
const production: Side = { variant: 'hindsight:production' }

const reference = production.variant

/** The performance goals. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'production',
    what: 'production, the service, CORS for one origin, unused sessions',
    subject: production,
    against: 'bare Fastify',
    base: bare,
    reference,
    goal: { ratio: 0.65 }
  },
  {
    name: 'built',
    what: 'the same as `npm run build` makes it',
    subject: { variant: 'built:production' },
    against: 'its sources',
    base: production,
    reference,
    goal: { ratio: 1 }
  },
  {
    name: 'floor',
    what: 'Fastify with as many empty hooks and the same headers as `production`',
    subject: { variant: 'fastify:floor' },
    against: 'bare Fastify',
    base: bare,
    goal: { ratio: 0.80 }
  },
  {
    name: 'stock',
    what: 'the same',
    subject: production,
    against: 'Fastify with cors, cookie, session, helmet',
    base: { variant: 'fastify:stock' },
    reference,
    goal: { ratio: 3 }
  },
  {
    name: 'observe',
    what: 'production, the package',
    subject: { variant: 'hindsight:observe' },
    against: 'bare Fastify',
    base: bare,
    goal: { ratio: 0.97 }
  },
  {
    name: 'not-found',
    what: 'production, the service, 404',
    subject: production,
    against: 'the 404 of bare Fastify',
    base: bare,
    reference,
    goal: { ratio: 0.55 },
    path: '/nowhere'
  },
  {
    name: 'errors',
    what: 'production, `profiler: \'errors\'`, successful requests',
    subject: { variant: 'hindsight:errors' },
    against: 'production without profiler',
    base: production,
    reference: 'hindsight:errors',
    goal: { ratio: 0.95 }
  },
  {
    name: 'debug',
    what: 'debug mode, every request profiled and stored, CPU of all threads',
    subject: { variant: 'hindsight:debug', production: false },
    against: 'bare Fastify',
    base: bare,
    goal: { microseconds: 300 }
  },
  {
    name: 'debug-observe',
    what: 'the same with the package',
    subject: { variant: 'hindsight:debug-observe', production: false },
    against: 'bare Fastify',
    base: bare,
    goal: { microseconds: 300 }
  },
  ...([['sqlite', 'a SQLite with the interface of node:sqlite', 12], ['pg', 'pg', 25], ['ioredis', 'ioredis', 15]] as const)
    .map(([variant, client, microsecondsOfQuery]): Scenario => ({
      name: `queries-${variant}`,
      group: 'queries',
      what: `debug mode, 50 queries a request of ${client}, each with its caller; the main thread`,
      subject: { variant: `queries:${variant}`, production: false },
      against: 'the same with `queries: false`',
      base: { variant: `queries:${variant}-plain`, production: false },
      goal: { microsecondsOfQuery, queries: 50 },
      requests: 2_000,
      warmUp: 3_000
    }))
]
