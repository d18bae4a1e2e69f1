import { isIP } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, InjectOptions } from 'fastify'
import type { Profile } from '../profile.js'
import { filled } from './fill.js'
import { LateAnswerError, send } from './send.js'
import { NotSendableError, type StoredRequest } from './stored-request.js'

const PATIENCE = 30_000
const PROFILE_PATIENCE = 5_000
const POLL = 20

/** Raised where no answer came, or one without a profile. */
export class ReplayFailedError extends Error {}

/** Raises where a request cannot be sent again, with the reason. */
export function checkReplayable ({ lost, path }: StoredRequest): void {
  if (lost !== null) throw new NotSendableError(`Of its body not all is kept: ${lost}.`)
  if (/^_(?:profiler|wdt|error)$/i.test(path.map(textOf).find((segment) => segment !== '') ?? '')) throw new NotSendableError('It was for the profiler itself.')
}

/** Sends a request to the application again, and waits for the profile that it leaves; the request that is being handled says which one it repeats. */
export async function replay (app: FastifyInstance, request: StoredRequest, values: ReadonlyMap<string, string>, patience = PATIENCE): Promise<Profile> {
  checkReplayable(request)
  const { method, target, headers, body } = filled(request, values)
  const token = await send(app, {
    method: method as NonNullable<InjectOptions['method']>,
    url: target,
    headers,
    ...(body !== null && { payload: body }),
    ...(request.ip !== null && isIP(request.ip) !== 0 && { remoteAddress: request.ip })
  }, patience).catch((error: Error) => {
    throw new ReplayFailedError(error instanceof LateAnswerError ? error.message : `It could not be sent: ${error.message}`)
  })
  const profile = token !== undefined ? await written(app, token) : undefined
  if (profile === undefined) throw new ReplayFailedError('It was answered, but has left no profile.')
  return profile
}

// It is made behind the response.
async function written ({ hindsight: { profiler } }: FastifyInstance, token: string): Promise<Profile | undefined> {
  const until = performance.now() + PROFILE_PATIENCE
  for (;;) {
    const profile = await profiler.find(token)
    if (profile !== undefined || performance.now() > until) return profile
    await sleep(POLL)
  }
}

function textOf (segment: StoredRequest['path'][number]): string {
  const text = typeof segment === 'string' ? segment : segment.text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
