import { isIP } from 'node:net'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Profile } from '../profile.js'
import { fillRequest } from './fill.js'
import { decoded, NotSendableError, type StoredRequest } from './stored-request.js'

/** Milliseconds. */
const RESPONSE_TIMEOUT = 30_000
const PROFILE_TIMEOUT = 5_000
const POLL_INTERVAL = 20

/** The request had no response, or one without a profile. */
export class ReplayFailedError extends Error {}

/** The response did not begin in time. */
export class ResponseTimeoutError extends ReplayFailedError {}

/** Why the request cannot be replayed. */
export function replayProblem ({ bodyProblem, path }: StoredRequest): string | undefined {
  if (bodyProblem !== undefined) return `Its body is not stored as a whole: ${bodyProblem}.`
  const [first = ''] = path.map(decoded).filter((segment) => segment !== '')
  return /^_(?:profiler|wdt|error)$/i.test(first) ? 'It is a request of the profiler itself.' : undefined
}

/**
 * Sends a request to the application again, and waits for its profile. Throws a `NotSendableError`, a
 * `MissingValueError`, or a `ReplayFailedError`. `timeout`: milliseconds.
 */
export async function replay (
  app: FastifyInstance, request: StoredRequest, values: ReadonlyMap<string, string>, timeout = RESPONSE_TIMEOUT
): Promise<Profile> {
  const problem = replayProblem(request)
  if (problem !== undefined) throw new NotSendableError(problem)
  const { method, target, headers, body } = fillRequest(request, values)
  const token = await send(app, {
    method: method as NonNullable<InjectOptions['method']>,
    url: target,
    headers,
    ...(body !== undefined && { payload: body }),
    ...(isIP(request.ip ?? '') !== 0 && { remoteAddress: request.ip })
  }, timeout).catch((error: Error) => {
    throw error instanceof ReplayFailedError ? error : new ReplayFailedError(`It could not be sent: ${error.message}`)
  })
  const profile = token === undefined ? undefined : await writtenProfile(app, token)
  if (profile === undefined) throw new ReplayFailedError('It was answered, but has no profile.')
  return profile
}

/**
 * Sends a request to the application; returns the token of the profile that the response names. A response that has
 * not ended after `timeout` milliseconds is aborted, as a stream of events never ends.
 */
export async function send (
  app: FastifyInstance, options: InjectOptions, timeout: number
): Promise<string | undefined> {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), timeout)
  let token: unknown
  try {
    const response = await app.inject({ ...options, signal: abort.signal, payloadAsStream: true })
    token = response.headers['x-debug-token']
    await finished(response.stream().resume())
  } catch (error) {
    if (typeof token === 'string') return token
    throw abort.signal.aborted ? new ResponseTimeoutError(`No response within ${timeout / 1_000} seconds.`) : error
  } finally {
    clearTimeout(timer)
  }
  return typeof token === 'string' ? token : undefined
}

// The profile is written after the response.
async function writtenProfile (app: FastifyInstance, token: string): Promise<Profile | undefined> {
  const deadline = performance.now() + PROFILE_TIMEOUT
  for (;;) {
    const profile = await app.hindsight.profiler.find(token)
    if (profile !== undefined || performance.now() > deadline) return profile
    await sleep(POLL_INTERVAL)
  }
}
