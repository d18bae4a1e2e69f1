import { isIP } from 'node:net'
import { finished } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import createError from '@fastify/error'
import type { FastifyInstance, InjectOptions } from 'fastify'
import { isProfilerPath } from '../../http/requests.js'
import type { Profile } from '../../store/profile.js'
import { NotSendableError, type StoredRequest } from './stored-request.js'

const RESPONSE_TIMEOUT = 30_000
const PROFILE_TIMEOUT = 5_000
const POLL_INTERVAL = 20

const ReplayFailedError = createError('HINDSIGHT_REPLAY_FAILED', 'The replay failed: %s', 502)

/** Why the request cannot be replayed; `base`: the prefix of the application. */
export function replayProblem ({ bodyProblem, target }: StoredRequest, base: string): string | undefined {
  if (bodyProblem !== undefined) return `Its body is not stored as a whole: ${bodyProblem}.`
  if (isProfilerPath(target.split('?', 1).join(), base)) return 'It is a request of the profiler itself.'
  return undefined
}

/**
 * Sends a request to the application again, and waits for its profile. Throws a `NotSendableError` or a
 * `ReplayFailedError`. `timeout`: milliseconds.
 */
export async function replayRequest (
  app: FastifyInstance, request: StoredRequest, timeout = RESPONSE_TIMEOUT
): Promise<Profile> {
  const problem = replayProblem(request, app.hindsight.base)
  if (problem !== undefined) throw new NotSendableError(problem)
  const { method, target, headers, body } = request
  const token = await send(app, {
    method: method as NonNullable<InjectOptions['method']>,
    url: target,
    headers,
    ...(body !== undefined && { payload: body }),
    ...(isIP(request.ip ?? '') !== 0 && { remoteAddress: request.ip })
  }, timeout)
  // The profile is written after the response.
  const deadline = typeof token === 'string' ? performance.now() + PROFILE_TIMEOUT : 0
  while (performance.now() < deadline) {
    const profile = await app.hindsight.profiler.find(String(token))
    if (profile !== undefined) return profile
    await sleep(POLL_INTERVAL)
  }
  throw new ReplayFailedError('It was answered, but has no profile.')
}

/** Sends a request; returns the token that the response names. */
async function send (app: FastifyInstance, options: InjectOptions, timeout: number): Promise<unknown> {
  const signal = AbortSignal.timeout(timeout)
  let token: unknown
  try {
    const response = await app.inject({ ...options, signal, payloadAsStream: true })
    token = response.headers['x-debug-token']
    await finished(response.stream().resume())
  } catch (error) {
    // A response that does not end, such as a stream of events, is aborted, and has a profile.
    if (token === undefined) {
      const reason = `It could not be sent: ${(error as Error).message}`
      throw new ReplayFailedError(signal.aborted ? `No response within ${timeout / 1_000} seconds.` : reason)
    }
  }
  return token
}
