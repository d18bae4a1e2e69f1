import Fastify, { type FastifyInstance } from 'fastify'
import { FEATURES, hello, type Variants } from './shared.js'

const BUILT = new URL('../../dist/', import.meta.url).href

/** The service and the package as `npm run build` makes them. */
export const variants: Variants = {
  'built:production': async () => {
    const { service } = await import(`${BUILT}app/service.js`) as typeof import('../../app/service.js')
    const { boundConnections, serverOptions } =
      await import(`${BUILT}lib/server-options.js`) as typeof import('../../lib/server-options.js')
    const app = Fastify(serverOptions()) as unknown as FastifyInstance
    boundConnections(app, {})
    await app.register(service, FEATURES)
    return hello(app)
  }
}
