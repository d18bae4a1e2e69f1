import Fastify, { type FastifyInstance, type FastifyPluginAsync, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { hindsight } from '../../src/hindsight.js'
import { service } from '../../../../app/service.js'
import type { ServiceOptions } from '../../../../lib/options.js'
import { inMemory, SECRET } from './app.js'

/** The two products, an application that is only observed and the service: what both have is tested in both. */
export const PRODUCTS = ['package', 'service'] as const
export type TestedProduct = typeof PRODUCTS[number]

/** The plugin of a product. */
export const pluginOf = (product: TestedProduct): FastifyPluginAsync<ServiceOptions> => product === 'service' ? service : hindsight as never

/** Makes an application with one of the products, in debug mode with profiles in memory; it is closed after the test. */
export type Build = (declare?: (app: FastifyInstance) => unknown, options?: ServiceOptions, server?: object) => Promise<FastifyInstance>

/** Runs a test of what both products have, once with each; `parent` is the test that it is a part of. */
export function inBothProducts (name: string, test: (t: Test, build: Build, product: TestedProduct) => unknown, parent: Pick<Test, 'test'> = t): void {
  for (const product of PRODUCTS) {
    parent.test(`${name} (${product})`, async (t) => {
      const build: Build = async (declare, { profiler, ...options } = {}, server = {}) => {
        const app = Fastify(
          { logger: { level: 'info', stream: { write () {} } }, pluginTimeout: 60_000, ...server } as FastifyServerOptions
        ) as unknown as FastifyInstance
        t.teardown(() => app.close())
        const session = product === 'service' ? { secret: SECRET } : undefined
        await app.register(pluginOf(product), { debug: true, ...(session && { session }), ...options, profiler: inMemory(profiler) })
        await declare?.(app)
        await app.ready()
        return app
      }
      await test(t, build, product)
    })
  }
}
