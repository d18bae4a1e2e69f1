import type { FastifyRequest } from 'fastify'
import { LruMap } from 'toad-cache'
import { absoluteUrl } from '../http/origin.js'
import { targetOf } from '../http/request-target.js'
import { servicesOf } from '../lifecycle/services.js'

/** Milliseconds for which a redirect is kept, and how many are kept. */
const REDIRECT_LIFETIME = 30_000
const MAX_REDIRECTS = 1_000
/** Characters. */
const MAX_URL = 2_000
const MAX_AGENT = 300

/** The latest redirects by client and target: they are the parents of the requests that follow. */
export class Redirects {
  readonly #kept = new LruMap<string>(MAX_REDIRECTS, REDIRECT_LIFETIME)

  /** Keeps the redirect of a request to `location`, which may be relative. */
  remember (request: FastifyRequest, location: string, token: string): void {
    // The clients of a Unix socket cannot be distinguished.
    if (servicesOf(request).originOf(request).ip === '') return
    this.#kept.set(keyOf(request, location), token)
  }

  /** Removes the redirect to this request and returns its token; empty where there is none. */
  take (request: FastifyRequest): string {
    if (this.#kept.size === 0) return ''
    const key = keyOf(request)
    const token = this.#kept.get(key) ?? ''
    this.#kept.delete(key)
    return token
  }
}

/** The client of a request, and the URL that it requests or is redirected to. */
function keyOf (request: FastifyRequest, location = ''): string {
  const origin = servicesOf(request).originOf(request)
  const url = absoluteUrl(origin, targetOf(request))
  const target = location.length <= MAX_URL && URL.canParse(location, url) ? new URL(location, url).href : ''
  return [origin.ip, request.headers['user-agent']?.slice(0, MAX_AGENT), target.split('#', 1)].join('\n')
}
