import type { FastifyReply, FastifyRequest } from 'fastify'
import { isError } from '../errors/thrown-value.js'
import { recordingOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'

/**
 * Records what error handlers of the application throw or send after a failure. Fastify calls no hook for that, but
 * `send` of the reply: again for a value that is no error, where its own handler sends what it has received.
 */
export function watchErrorHandlers (request: FastifyRequest, reply: FastifyReply): void {
  recordingOf(request).isRethrown ??= false
  const original = reply.send
  const pending: unknown[] = []
  const value = function send (this: FastifyReply, ...args: [payload?: unknown]): FastifyReply {
    const [payload] = args
    if (isError(payload) || (pending.length > 0 && pending.at(-1) === payload)) {
      recordingOf(request).isRethrown = true
      servicesOf(request).recorder?.fail(request, reply, payload)
    }
    pending.push(payload)
    try {
      return original.apply(this, args)
    } finally {
      pending.pop()
    }
  }
  Reflect.defineProperty(reply, 'send', { value, writable: true, configurable: true })
}
