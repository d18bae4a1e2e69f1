import type { ServerOptions } from './processes.js'

interface Side extends ServerOptions {
  variant: string
}

/** One line of the table: what is measured, against what, and the least that its share may be. */
export interface Scenario {
  name: string
  what: string
  subject: Side
  against: string
  base: Side
  /** The base's CPU time a request, divided by ours, is to be at least this; null: only told. */
  goal: number | null
  path?: string
  headers?: Readonly<Record<string, string>>
  /** Requests of one round; rarely asked where they cost much. */
  requests?: number
  /** Requests ahead of the first round; by default as many as `run.ts` says, or three rounds where these are short. */
  warmUp?: number
}

const bare: Side = { variant: 'fastify:bare' }
const production: Side = { variant: 'hindsight:production' }
const debug: Side = { variant: 'hindsight:debug', production: false }
const failing: Side = { variant: 'hindsight:failing', production: false }
const html = { accept: 'text/html' }

/** The table of the performance goals, and what says how the costs grow. */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'production', what: 'production, defaults, CORS for one origin, sessions on and untouched', subject: production, against: 'bare Fastify', base: bare, goal: 0.80 },
  { name: 'stock', what: 'the same', subject: production, against: 'Fastify with cors, cookie, session, helmet', base: { variant: 'fastify:stock' }, goal: 3 },
  { name: 'production-origin', what: 'the same, asked by that origin', subject: production, against: 'bare Fastify', base: bare, goal: null, headers: { origin: 'https://app.example' } },
  { name: 'headers', what: 'Fastify with six headers as production adds them, set in one hook', subject: { variant: 'fastify:headers' }, against: 'bare Fastify', base: bare, goal: null },
  { name: 'not-found', what: 'production, 404', subject: production, against: 'bare Fastify\'s 404', base: bare, goal: 0.75, path: '/nowhere' },
  { name: 'debug', what: 'debug, every request profiled, masked and stored', subject: debug, against: 'bare Fastify', base: bare, goal: 0.35 },
  { name: 'debug-in-memory', what: 'the same, stored in memory', subject: { variant: 'hindsight:debug-in-memory', production: false }, against: 'bare Fastify', base: bare, goal: null },
  { name: 'debug-unprofiled', what: 'debug without profiles', subject: { variant: 'hindsight:debug-unprofiled', production: false }, against: 'bare Fastify', base: bare, goal: null },
  { name: 'debug-lines', what: 'the same, five log lines a request', subject: { variant: 'hindsight:lines', production: false }, against: 'Fastify with pino and the same lines', base: { variant: 'fastify:lines' }, goal: 0.60 },
  { name: 'errors', what: 'production, `profiler: \'errors\'`, successful requests', subject: { variant: 'hindsight:errors' }, against: 'production without profiler', base: production, goal: 0.95 },
  { name: 'page-youch', what: 'diagnostic page, two exceptions, 20 frames with excerpts, logs', subject: failing, against: 'youch 4', base: { variant: 'youch:failing', production: false }, goal: 20, headers: html, requests: 100, warmUp: 6_000 },
  { name: 'page-json', what: 'the same', subject: failing, against: 'Fastify\'s JSON error', base: { variant: 'fastify:failing' }, goal: 0.25, headers: html, requests: 500, warmUp: 6_000 },
  { name: 'page-maps', what: 'the same, source maps on', subject: failing, against: 'off', base: { variant: 'hindsight:failing-without-maps', production: false }, goal: 0.8, headers: html, requests: 300, warmUp: 6_000 },
  { name: 'otel', what: 'in an application of 30 hooks, debug', subject: { variant: 'hindsight:hooks', production: false }, against: '@fastify/otel with a no-op processor', base: { variant: 'otel:hooks' }, goal: 5 },
  ...[10, 100, 1_000, 10_000].map((routes) => grown('routes', routes, 'hindsight:routes', 'fastify:routes')),
  ...[10, 100].map((hooks) => grown('hooks', hooks, 'hindsight:hooks', 'fastify:hooks')),
  ...[1, 10, 100, 1_000].map((lines) => ({ ...grown('lines', lines, 'hindsight:lines', 'fastify:lines'), requests: Math.min(4_000, Math.max(100, 40_000 / lines)), warmUp: Math.min(30_000, Math.max(300, 300_000 / lines)) })),
  { ...grown('lines', 10_000, 'hindsight:failing', 'fastify:failing'), name: 'growth-page-lines', what: 'debug, 10,000 log lines, the page of a failure', requests: 5, headers: html },
  { ...grown('lines', 10_000, 'hindsight:failing-unprofiled', 'fastify:failing'), name: 'growth-page-lines-alone', what: 'the same, without its profile', requests: 5, headers: html },
  ...[10, 50, 200].map((depth): Scenario => ({ ...grown('depth', depth, 'hindsight:failing', 'fastify:failing'), requests: 100, warmUp: 3_000, headers: html }))
]

function grown (what: string, amount: number, subject: string, base: string): Scenario {
  const options = { [what]: amount }
  return {
    name: `growth-${what}-${amount}`,
    what: `debug, ${amount.toLocaleString('en')} ${what === 'depth' ? 'calls deep, the page of a failure' : what === 'lines' ? 'log lines' : what}`,
    subject: { variant: subject, production: false, options },
    against: 'Fastify with the same',
    base: { variant: base, options },
    goal: null
  }
}
