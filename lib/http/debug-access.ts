import { isIP, type AddressInfo } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { requestContext, stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { HindsightOptions } from '../options.js'
import { addressRanges } from './address-ranges.js'
import { forwardingNames } from './forwarding-headers.js'
import type { Origin } from './origin.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    isDebugClient?: boolean
  }
}

type DebugAccess = ReturnType<typeof debugAccess>

declare module '../lifecycle/services.js' {
  interface Services extends DebugAccess {}
}

const isLoopback = addressRanges(['loopback'])
const isPrivate = addressRanges(['loopback', 'linklocal', 'uniquelocal'])
/** The name of a host; `unknown` and identifiers such as `_hidden` name none (RFC 7239, sections 6.2 and 6.3). */
const HOST_NAME = /^(?!unknown$|_)[a-z0-9.:_-]+$/

/** Makes the functions that decide by address, `Host` and forwarding headers about clients that receive source. */
export function debugAccess (
  app: FastifyInstance,
  debug: boolean,
  originOf: (request: FastifyRequest) => Origin,
  { debugClients = [], debugHosts = [] }: HindsightOptions
) {
  const isListed = addressRanges(debugClients, 'debugClients (DEBUG_CLIENTS)')
  const hosts = new Set(debugHosts.map((host) => host.toLowerCase()))

  /** Whether the client of a request is a developer, who receives the token of the profile. */
  function isDebugClient (request: FastifyRequest): boolean {
    if (!debug) return false
    const state = stateOf(request)
    return (state.isDebugClient ??= isInjection(request.raw) ? isInjectorAllowed(request) : isMessageAllowed(request))
  }

  /** Whether the response may have source and logs; false for a page of another site, which CORS may let read it. */
  function mayReceiveDetails (request: FastifyRequest): boolean {
    return isDebugClient(request) && (isInjection(request.raw) || isPageAllowed(request))
  }

  // A request that a handler injects is made for the client of that handler.
  function isInjectorAllowed ({ raw }: FastifyRequest): boolean {
    const injector = requestContext.getStore()?.request
    return injector === undefined || injector.raw === raw || servicesOf(injector).mayReceiveDetails(injector)
  }

  function isMessageAllowed (request: FastifyRequest): boolean {
    const origin = originOf(request)
    return isClientAllowed(origin.ip) && isForwardingAllowed(origin, request) && isHostAllowed(origin, request)
  }

  function isClientAllowed (ip: string): boolean {
    return isLoopback(ip) || isListed(ip) || (isPrivate(ip) && isBoundBeyondLoopback(app))
  }

  // Forwarding headers can only deny access: a forged header gains nothing.
  function isForwardingAllowed ({ ip, proxies }: Origin, { raw }: FastifyRequest): boolean {
    const { addresses, hosts: named } = forwardingNames(raw.headers)
    // Browsers have sent HTTP/1.1 since 1999, some reverse proxies send 1.0. Unless the proxy is trusted, its headers
    // may be those of its client.
    if (raw.httpVersion === '1.0' && !isListed(ip) && (proxies.length === 0 || addresses.length === 0)) return false
    const isAllowed = (address: string): boolean => proxies.includes(address) || isClientAllowed(address)
    if (!addresses.every(isAllowed)) return false
    if (hosts.has('*')) return true
    // Without a trusted proxy, a public address as host is one that remote clients use.
    const isPublic = (host: string): boolean => isIP(host) !== 0 && proxies.length === 0 && !isAllowed(host)
    return named.every((host) => hosts.has(host) || (HOST_NAME.test(host) && !isPublic(host) && isNameAllowed(host)))
  }

  function isHostAllowed ({ host }: Origin, { raw: { headers } }: FastifyRequest): boolean {
    if (hosts.has('*')) return true
    // A page of another site can give any name to a local address (DNS rebinding), and can choose the host that a
    // trusted proxy forwards: both must be allowed.
    return host !== '' && isNameAllowed(host) &&
      isAuthorityAllowed(headers.host) && isAuthorityAllowed(headers[':authority'])
  }

  // Pages cannot choose either header (Fetch, section 2.2.2; Fetch Metadata, section 2.4).
  function isPageAllowed (request: FastifyRequest): boolean {
    const { origin, 'sec-fetch-site': site } = request.headers
    if (origin === undefined || site === 'same-origin' || hosts.has('*')) return true
    if (!URL.canParse(origin)) return false
    const { protocol, hostname } = new URL(origin)
    if (protocol !== 'http:' && protocol !== 'https:') return false
    if (hostname === originOf(request).host.replace(/:$/, '')) return true
    const address = hostname.replace(/^\[|\]$/g, '')
    return isIP(address) === 0 ? isNameAllowed(hostname) : isClientAllowed(address)
  }

  function isAuthorityAllowed (authority: string | string[] = ''): boolean {
    const name = String(authority).trim().toLowerCase().replace(/:\d+$/, '')
    return name === '' || isNameAllowed(name)
  }

  function isNameAllowed (host: string): boolean {
    return isLocalHost(host) || hosts.has(host.replace(/\.$/, '')) || hosts.has(host)
  }

  return { isDebugClient, mayReceiveDetails }
}

function isLocalHost (host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  return isIP(name) !== 0 || !name.includes('.') || name.endsWith('.localhost') || name.endsWith('.test')
}

function isBoundBeyondLoopback (app: FastifyInstance): boolean {
  const addresses: Array<AddressInfo | string> = app.server.listening ? app.addresses() : []
  return addresses.some((address) => typeof address === 'object' && !isLoopback(address.address))
}
