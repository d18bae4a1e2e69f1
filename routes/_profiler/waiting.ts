import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isTracing, traceWaits } from '../../lib/parts/waiting/trace.js'
import { BadFieldError, baseOf, formatOf, formOf, formTokenOf, routeOptions } from './responses.js'

/** The requests of this process that have not ended, and whether what later ones wait for is traced. */
export type WaitingView = Awaited<ReturnType<typeof viewOf>>

/** Requests that have not ended. */
export default async function waitingRoutes (app: FastifyInstance): Promise<void> {
  app.get('/waiting.json', routeOptions(app, '_profiler_waiting'), viewOf)
  app.post('/waiting', routeOptions(app, '_profiler_trace_waits'), async function switchTracing (request, reply) {
    const { trace } = await formOf(request)
    if (trace !== '1' && trace !== '0') throw new BadFieldError('trace', 'it is neither 1 nor 0')
    traceWaits(app.hindsight, trace === '1')
    if (formatOf(request, reply) === 'json') return await viewOf(request)
    return reply.redirect(`${baseOf(request)}/`, 303)
  })
}

async function viewOf (request: FastifyRequest) {
  const waiting = request.server.hindsight.recorder?.waiting() ?? []
  return { waiting, tracing: isTracing(), formToken: await formTokenOf(request) }
}
