import { parsedJson, withStackLimit } from '../call.js'
import { httpError } from '../http/http-errors.js'
import type { Recording } from './recording.js'

/** The body of Fastify for an error whose own body could not be made: other bodies have an `error`. */
const UNSERIALIZED =
  /^\{"statusCode":500,"code":"FST_ERR_(?:FAILED_ERROR_SERIALIZATION|REP_INVALID_PAYLOAD_TYPE)","message"/

class UnserializedError extends httpError('FastifyError', 'FST_ERR_FAILED_ERROR_SERIALIZATION', 500) {}

/**
 * The error of a response whose payload says that an earlier error could not be serialized: Fastify calls no hook for
 * it. Its cause is the earlier error. The page may replace this payload. Null for any other one.
 */
export function unserializedError (recording: Recording, payload: unknown): Error | null {
  const { failure } = recording
  if (failure === null || typeof payload !== 'string' || !UNSERIALIZED.test(payload)) return null
  recording.defaultAnswers = [payload]
  const { message } = Object(parsedJson(payload)) as { message?: unknown }
  return withStackLimit(0, () => new UnserializedError(String(message), { cause: failure.error }))
}
