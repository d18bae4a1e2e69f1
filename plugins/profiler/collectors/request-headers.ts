import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Mask } from '../../kernel/mask/mask.js'
import { KnownParts } from '../../kernel/known-parts.js'
import { shownHeaders } from './headers.js'

type ShownHeaders = Record<string, string | string[]>

interface Seen {
  headers: IncomingHttpHeaders
  mask: Mask | null
  shown: ShownHeaders
}

// What a client sends on a connection that it keeps hardly ever changes; all of it goes with the connection.
const seen = new WeakMap<object, Seen>()
// And the connections of one client are alike.
const known = new KnownParts<ShownHeaders>()

/** The headers of a request as they are now; what they look like in a profile is found out once it is written. */
export function headersNow ({ headers, raw, server }: FastifyRequest): (mask: Mask) => ShownHeaders {
  // A message that another plugin has made up came over no connection.
  const socket = (raw.socket as object | null | undefined) ?? raw
  const before = seen.get(socket)
  if (before === undefined || !areSame(before.headers, headers)) {
    const now: Seen = { headers: { ...headers }, mask: null, shown: {} }
    seen.set(socket, now)
    return (mask) => shownHeaders(now.headers, mask)
  }
  return (mask) => {
    // What one request hides is forgotten with it.
    if (mask !== server.hindsight.mask) return shownHeaders(before.headers, mask)
    if (before.mask !== mask) {
      const shown = shownHeaders(before.headers, mask)
      before.shown = known.of(JSON.stringify(shown), () => shown)
      before.mask = mask
    }
    return before.shown
  }
}

function areSame (one: IncomingHttpHeaders, other: IncomingHttpHeaders): boolean {
  // A list may be changed where it is.
  for (const name in one) if (one[name] !== other[name] || typeof one[name] !== 'string') return false
  return Object.keys(one).length === Object.keys(other).length
}
