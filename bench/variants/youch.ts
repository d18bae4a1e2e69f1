import Fastify from 'fastify'
import { Youch } from 'youch'
import { failing, type Variants } from './shared.js'

/** The peer that explains failures. */
export const variants: Variants = {
  'youch:failing': async () => {
    const app = Fastify({ logger: { level: 'info', file: '/dev/null' } })
    Error.stackTraceLimit = 50
    process.setSourceMapsEnabled(true)
    app.setErrorHandler(async (error, request, reply) => {
      request.log.error({ err: error })
      const page = await new Youch().toHTML(error, { request: request.raw as never })
      return reply.code(500).type('text/html; charset=utf-8').send(page)
    })
    return failing(app as never)
  }
}
