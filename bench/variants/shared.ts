import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'

/** The functions that make the servers, by the names of their variants. */
export type Variants = Readonly<Record<string, () => Promise<FastifyInstance>>>

/** The one origin that may read the responses. */
export const ORIGIN = 'https://app.example'
export const SECRET = 'a secret of the benchmark, for nobody else at all'
/** The options of the service in production. */
export const FEATURES = { debug: false, cors: [{ origin: ORIGIN }], session: { secret: SECRET } }

/** The route that every scenario requests. */
export function hello (app: FastifyInstance): FastifyInstance {
  return app.get('/', () => ({ hello: 'world' }))
}

/** A folder for a store, removed when the process ends. */
export function storeFolder (): string {
  const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'hindsight-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
