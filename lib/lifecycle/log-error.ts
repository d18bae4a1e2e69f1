import type { FastifyRequest } from 'fastify'

/** Logs an error of a request; without the error itself where the logger cannot serialize it. */
export function logError (request: FastifyRequest, error: unknown, fields: object, message: string): void {
  try {
    request.log.error({ err: error, ...fields }, message)
  } catch {
    // A getter of the error has thrown.
    request.log.error(fields, message)
  }
}
