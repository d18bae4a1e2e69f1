import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { hindsight } from '../../src/hindsight.js'
import type { HindsightOptions } from '../../src/options.js'
import { inMemory, SECRET } from './app.js'

/** The modes of the plugin: what both have is tested in both. */
export const MODES = ['observe', 'full'] as const
export type TestedMode = typeof MODES[number]

/** Makes an application with the plugin in one mode, in debug mode with profiles in memory; it is closed after the test. */
export type Build = (declare?: (app: FastifyInstance) => unknown, options?: HindsightOptions, server?: object) => Promise<FastifyInstance>

/** Runs a test of what both modes have, once in each; `parent` is the test that it is a part of. */
export function inBothModes (name: string, test: (t: Test, build: Build, mode: TestedMode) => unknown, parent: Pick<Test, 'test'> = t): void {
  for (const mode of MODES) {
    parent.test(`${name} (${mode})`, async (t) => {
      const build: Build = async (declare, { profiler, ...options } = {}, server = {}) => {
        const app = Fastify(
          { logger: { level: 'info', stream: { write () {} } }, pluginTimeout: 60_000, ...server } as FastifyServerOptions
        ) as unknown as FastifyInstance
        t.teardown(() => app.close())
        const session = mode === 'full' ? { secret: SECRET } : undefined
        await app.register(hindsight, { debug: true, lifecycle: mode, ...(session && { session }), ...options, profiler: inMemory(profiler) })
        await declare?.(app)
        await app.ready()
        return app
      }
      await test(t, build, mode)
    })
  }
}
