import { isIP } from 'node:net'
import type { AddressInfo } from 'node:net'
import { isInjection } from 'light-my-request'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addressRanges, rangesOfOption } from './address-ranges.js'
import { forwardingNames } from './forwarding-headers.js'
import { isRepeated } from './header-text.js'
import { requestContext } from '../lifecycle/request-state.js'
import type { Origin } from './request-origin.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'

export interface DebugAccessOptions {
  /** Addresses or CIDR ranges that may see the debug surface beside the loopback interface. */
  debugClients?: string[]
  /** Host names that may ask for it beside the local ones, or whose pages may; `*` for any. */
  debugHosts?: string[]
}

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    maySeeDebug?: boolean
  }
}

/** Who is shown what in debug mode. */
export interface DebugAccess {
  /** Whether a request is a developer's, who is told where its profile is. */
  maySeeDebug: (request: FastifyRequest) => boolean
  /** Whether what was found out may be in the answer: a page elsewhere can read what the CORS rules of the application let everybody read. */
  mayReadDebug: (request: FastifyRequest) => boolean
}

declare module '../lifecycle/services.js' {
  interface Services extends DebugAccess {}
}

const isLoopback = addressRanges(['loopback'])
const isPrivate = addressRanges(['loopback', 'linklocal', 'uniquelocal'])
/** A host, not what stands for one without naming it (`unknown`, `_hidden`: RFC 7239, sections 6.2 and 6.3). */
const NAME = /^(?!unknown$|_)[a-z0-9.:_-]+$/

/**
 * Makes the functions that decide who may see source, logs and headers: the client by its address, the `Host` because a
 * page of another site can bring any name to a local address (DNS rebinding), and what forwarding headers name. A client
 * of a Unix socket has no address.
 */
export function debugAccess (
  app: FastifyInstance,
  debug: boolean,
  originOf: (request: FastifyRequest) => Origin,
  { debugClients = [], debugHosts = [] }: DebugAccessOptions
): DebugAccess {
  if (!debug) return { maySeeDebug: () => false, mayReadDebug: () => false }
  const isListed = rangesOfOption(debugClients, 'debugClients (DEBUG_CLIENTS)')
  const hosts = new Set(debugHosts.map((host) => host.toLowerCase()))
  let wide: boolean | null = null

  return { maySeeDebug, mayReadDebug: (request) => maySeeDebug(request) && (isInjection(request.raw) || pageAllowed(request)) }

  function maySeeDebug (request: FastifyRequest): boolean {
    const state = stateOf(request)
    return (state.maySeeDebug ??= isInjection(request.raw) ? askerAllowed(request) : messageAllowed(request))
  }

  function messageAllowed (request: FastifyRequest): boolean {
    const origin = originOf(request)
    return clientAllowed(origin.ip) && forwardingAllowed(origin, request) && hostAllowed(origin, request)
  }

  // What a handler injects it asks for its own client, who may be anybody; what nobody asked for came over no network.
  function askerAllowed ({ raw }: FastifyRequest): boolean {
    const asker = requestContext.getStore()?.request
    return asker === undefined || asker.raw === raw || servicesOf(asker).mayReadDebug(asker)
  }

  function clientAllowed (ip: string): boolean {
    if (isLoopback(ip) || isListed(ip)) return true
    wide ??= boundBeyondLoopback(app)
    return wide && isPrivate(ip)
  }

  // They can only take access away: whoever wrote them, it does not matter whether they are true.
  function forwardingAllowed ({ ip, proxies }: Origin, { raw }: FastifyRequest): boolean {
    const { addresses, hosts: named } = forwardingNames(raw.headers)
    // Browsers have sent HTTP/1.1 since 1999: a reverse proxy sends 1.0. Unless it is trusted, the headers may be those of its client.
    if (raw.httpVersion === '1.0' && !isListed(ip) && (proxies.length === 0 || addresses.length === 0)) return false
    const isAllowed = (address: string): boolean => proxies.includes(address) || clientAllowed(address)
    if (!addresses.every(isAllowed)) return false
    if (hosts.has('*')) return true
    // Without a trusted proxy, a public address in place of a name is the one that clients elsewhere use.
    const isPublic = (host: string): boolean => isIP(host) !== 0 && proxies.length === 0 && !isAllowed(host)
    return named.every((host) => hosts.has(host) || (NAME.test(host) && !isPublic(host) && nameAllowed(host)))
  }

  function hostAllowed ({ host, problem }: Origin, request: FastifyRequest): boolean {
    if (hosts.has('*')) return true
    const { headers } = request.raw
    // A message whose host cannot be read was sent by no page: browsers send valid ones.
    if (host === '') return problem !== null && !hasHostOf(request)
    // A page of another site can choose the host that a trusted proxy forwards: both have to be allowed.
    return nameAllowed(host) && sentAllowed(headers.host) && sentAllowed(headers[':authority'])
  }

  // Browsers do not let a page choose either header (Fetch, section 2.2.2; Fetch Metadata, section 2.4).
  function pageAllowed (request: FastifyRequest): boolean {
    const { origin, 'sec-fetch-site': site } = request.headers
    if (origin === undefined || site === 'same-origin' || hosts.has('*')) return true
    if (!URL.canParse(origin)) return false
    const { protocol, hostname } = new URL(origin)
    if (protocol !== 'http:' && protocol !== 'https:') return false
    const name = hostname.replace(/^\[|\]$/g, '')
    if (hostname === originOf(request).host.replace(/:$/, '')) return true
    // A stranger may well have an address.
    return isIP(name) === 0 ? nameAllowed(hostname) : clientAllowed(name)
  }

  function sentAllowed (authority: string | string[] = ''): boolean {
    const name = String(authority).trim().toLowerCase().replace(/:\d+$/, '')
    return name === '' || nameAllowed(name)
  }

  function nameAllowed (host: string): boolean {
    return isLocalHost(host) || hosts.has(host.replace(/\.$/, '')) || hosts.has(host)
  }
}

// An invalid host may still be one that a browser can be made to send, unless it has characters that no URL's host has, or a companion.
function hasHostOf (request: FastifyRequest): boolean {
  const { headers, rawHeaders } = request.raw
  const host = headers[':authority'] ?? headers.host
  return host !== undefined && URL.canParse(`http://${host}/`) && !isRepeated(rawHeaders, 'host')
}

function isLocalHost (host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  return isIP(name) !== 0 || !name.includes('.') || name.endsWith('.localhost') || name.endsWith('.test')
}

function boundBeyondLoopback (app: FastifyInstance): boolean {
  const addresses = app.server.listening ? app.addresses() : []
  return addresses.some((address: AddressInfo | string) => typeof address === 'object' && !isLoopback(address.address))
}
