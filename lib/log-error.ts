import type { FastifyRequest } from 'fastify'
import { attemptCall } from 'fastify-hindsight/recorder'

/** Members of an AggregateError in a line. */
const MAX_MEMBERS = 20

/** Logs an error of a request; without the error itself where the logger cannot serialize it. */
export function logError (request: FastifyRequest, error: unknown, fields: object, message: string): void {
  // A getter of the error may throw.
  attemptCall(() => request.log.error({ err: withFewMembers(error), ...fields }, message),
    () => request.log.error(fields, message))
}

/**
 * The error with the first members of an AggregateError, and fewer of those that are members themselves: each has a
 * stack, and thousands would take seconds.
 */
export function withFewMembers <T> (error: T, max = MAX_MEMBERS): T {
  const { errors } = Object(error) as { errors?: unknown[] }
  if (!Array.isArray(errors)) return error
  const members = errors.slice(0, max).map((member) => withFewMembers(member, max >> 2))
  if (members.length === errors.length && members.every((member, index) => member === errors[index])) return error
  return Object.create(error as object, { errors: { value: members } }) as T
}
