import type { FastifyInstance } from 'fastify'
import { flattenError } from '../errors/flatten-error.js'
import { maskException } from '../errors/mask-exception.js'
import type { Mask } from '../mask/mask.js'
import type { MalformedMessage } from '../http/refused-message.js'
import { PROFILE_VERSION, type Profile } from './profile.js'
import type {} from './profiler.js'

/** The profile of a message that never became a request: no route, no events, the refused bytes as masked text. */
export function malformedProfile (refused: MalformedMessage, token: string, mask: Mask): Profile {
  const { error, status, method, url, ip, packet } = refused
  return {
    version: PROFILE_VERSION,
    token,
    time: new Date().toISOString(),
    duration: 0,
    method,
    url: mask.url(url),
    ip,
    status,
    route: null,
    exceptions: flattenError(error).map((exception) => maskException(exception, mask)),
    logs: [],
    events: [],
    collectors: { request: { rawMessage: mask.message(packet) } }
  }
}

/** The function that stores a profile of each malformed message of an application. */
export function malformedRecorder ({ hindsight }: FastifyInstance): (refused: MalformedMessage) => void {
  const { profiler, mask } = hindsight
  return (refused) => { profiler.save(malformedProfile(refused, profiler.newToken(), mask)) }
}
