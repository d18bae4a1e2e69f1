import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'

/** What makes the server of a variant; it is told numbers that belong to its scenario. */
export type Make = (options: Record<string, number>) => Promise<FastifyInstance>
export type Variants = Readonly<Record<string, Make>>

/** The one origin that may read the answers. */
export const ORIGIN = 'https://app.example'
export const SECRET = 'a secret of the benchmark, for nobody else at all'
export const LINES = 5

/** The route that every scenario asks for, unless it is about failures. */
export function hello (app: FastifyInstance): FastifyInstance {
  return app.get('/', () => ({ hello: 'world' }))
}

/** The same with log lines, as an application writes them. */
export function helloWithLines (app: FastifyInstance, lines = LINES): FastifyInstance {
  return app.get('/', (request) => {
    say(request, lines)
    return { hello: 'world' }
  })
}

/** What an application with a logger has: pino, written to where nobody reads it. */
export function logging (): FastifyInstance {
  return Fastify({ logger: { level: 'info', file: '/dev/null' } }) as unknown as FastifyInstance
}

/** A folder for a store, gone when the process is. */
export function storeFolder (): string {
  const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'hindsight-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The hooks that an application of some size has. */
export function addHooks (app: FastifyInstance, count: number): void {
  for (let i = 0; i < count; i++) {
    app.addHook('onRequest', Object.defineProperty(((_request, _reply, done) => { done() }) as (...args: [unknown, unknown, () => void]) => void, 'name', { value: `hook${i}` }))
  }
}

/** Writes log lines, as an application does. */
function say (request: FastifyRequest, lines: number): void {
  for (let i = 0; i < lines; i++) request.log.info({ channel: 'app', item: i }, 'A line of the application about what it does')
}

/** Fails behind some log lines. */
export function failing (app: FastifyInstance, { depth, lines = 0 }: Record<string, number> = {}): FastifyInstance {
  return app.get('/', (request) => {
    say(request, lines)
    failDeep(depth)
  })
}

/** Fails ten calls deep, in a library's name, with a cause: two exceptions of some twenty frames with their excerpts. */
function failDeep (depth = 18): never {
  if (depth > 0) return failDeep(depth - 1)
  try {
    throw new TypeError('Cannot read properties of undefined (reading \'title\')')
  } catch (cause) {
    throw new Error('The article could not be shown', { cause })
  }
}
