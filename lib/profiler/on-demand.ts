import { Signer } from '@fastify/cookie'
import type { FastifyRequest } from 'fastify'

/** How a client asks for a profile of its own request. */
export interface OnDemandOptions {
  /** Signs what clients send, HMAC-SHA256; at least 32 characters. */
  secret: string
  /** The request header; `x-hindsight-profile` by default. */
  header?: string
  /** The query parameter; `_profile` by default. */
  parameter?: string
}

const DEFAULT_HEADER = 'x-hindsight-profile'
const DEFAULT_PARAMETER = '_profile'
const LEAST_SECRET = 32
/** How far away the end of a signature may be, in days: what is stolen must not hold for ever. */
export const MAX_DAYS = 30
// The clocks of who signs and of who is asked may differ.
const MAX_AHEAD = (MAX_DAYS * 24 * 3600 + 60) * 1000
const SIGNED = /^(\d{1,12})\.[\w+/=-]{20,100}$/

/** The value that asks for profiles until a time (Unix, in seconds). */
export function signDemand (secret: string, until: number): string {
  return new Signer(secret).sign(String(Math.floor(until)))
}

/** The names of the header and the parameter that bring a signature: whoever reads one can use it until its end. */
export function demandNames ({ header = DEFAULT_HEADER, parameter = DEFAULT_PARAMETER }: Partial<OnDemandOptions> = {}): string[] {
  return [header, parameter]
}

/** Makes the function that tells whether a request asks for its profile, with a signature that is valid and not too old. */
export function demandPolicy ({ secret, header = DEFAULT_HEADER, parameter = DEFAULT_PARAMETER }: OnDemandOptions): (request: FastifyRequest) => boolean {
  if (typeof secret !== 'string' || secret.length < LEAST_SECRET) {
    throw new Error(`profiler.onDemand.secret: ${typeof secret === 'string' ? `${secret.length} characters are too few` : 'it is missing'}, at least ${LEAST_SECRET} are needed`)
  }
  const name = header.toLowerCase()
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) throw new Error(`profiler.onDemand.header: "${header}" is not the name of a header`)
  if (!/^[\w.-]+$/.test(parameter)) throw new Error(`profiler.onDemand.parameter: "${parameter}" is not the name of a query parameter`)
  const signer = new Signer(secret)

  return function isDemanded (request) {
    const given = request.headers[name] ?? (request.query as Record<string, unknown> | undefined)?.[parameter]
    if (typeof given !== 'string') return false
    const until = SIGNED.exec(given)?.[1]
    if (until === undefined) return false
    const left = Number(until) * 1000 - Date.now()
    return left >= 0 && left <= MAX_AHEAD && signer.unsign(given).valid
  }
}
