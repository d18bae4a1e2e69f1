import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify, { type FastifyInstance } from 'fastify'

/** The functions that make the servers, by the names of their variants. */
export type Variants = Readonly<Record<string, () => Promise<FastifyInstance>>>

/** The one origin that may read the responses. */
export const ORIGIN = 'https://app.example'
export const SECRET = 'a secret of the benchmark, for nobody else at all'
const HOOKS = 30

/** The route that every scenario requests, unless it is about failures. */
export function hello (app: FastifyInstance): FastifyInstance {
  return app.get('/', () => ({ hello: 'world' }))
}

/** An application with a logger whose lines are discarded. */
export function logging (): FastifyInstance {
  return Fastify({ logger: { level: 'info', file: '/dev/null' } }) as unknown as FastifyInstance
}

/** A folder for a store, removed when the process ends. */
export function storeFolder (): string {
  const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'hindsight-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Adds the hooks of an application of some size. */
export function addHooks (app: FastifyInstance): void {
  for (let i = 0; i < HOOKS; i++) {
    const hook = (_request: unknown, _reply: unknown, done: () => void): void => { done() }
    app.addHook('onRequest', Object.defineProperty(hook, 'name', { value: `hook${i}` }))
  }
}

/** Adds a route that fails 18 calls deep, with a cause: two exceptions of some twenty frames with their excerpts. */
export function failing (app: FastifyInstance): FastifyInstance {
  return app.get('/', () => failDeep(18))
}

function failDeep (depth: number): never {
  if (depth > 0) return failDeep(depth - 1)
  try {
    throw new TypeError('Cannot read properties of undefined (reading \'title\')')
  } catch (cause) {
    throw new Error('The article could not be shown', { cause })
  }
}
