import { finished } from 'node:stream/promises'
import type { FastifyInstance, InjectOptions } from 'fastify'

/** Raised where no answer has begun in time. */
export class LateAnswerError extends Error {
  constructor (patience: number) {
    super(`No answer came within ${patience / 1_000} seconds.`)
  }
}

/**
 * Sends a request to the application itself; the token of the profile that the answer names, if any.
 * `patience`, in milliseconds, is for the whole answer; what goes on for ever, as a stream of events does, is cut off then.
 */
export async function send (app: FastifyInstance, options: InjectOptions, patience: number): Promise<string | undefined> {
  const over = new AbortController()
  const { signal } = over
  const timer = setTimeout(() => over.abort(), patience)
  let token: unknown
  try {
    const response = await app.inject({ ...options, signal, payloadAsStream: true })
    token = response.headers['x-debug-token']
    // Nobody reads it: what is to be known of it is in the profile.
    await finished(response.stream().resume())
  } catch (error) {
    if (typeof token !== 'string') throw signal.aborted ? new LateAnswerError(patience) : error
  } finally {
    clearTimeout(timer)
  }
  return typeof token === 'string' ? token : undefined
}
