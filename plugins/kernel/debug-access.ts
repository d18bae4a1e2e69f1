import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { AddressInfo } from 'node:net'
import proxyAddr from '@fastify/proxy-addr'
import { isInjection } from 'light-my-request'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isRepeated } from './header-text.js'
import { LimitedMap } from './limited-map.js'
import { requestContext } from './request-context.js'
import type { Origin } from './request-origin.js'
import { stateOf } from './request-state.js'
import { servicesOf } from './services-of.js'

export interface DebugAccessOptions {
  /** Addresses or CIDR ranges that may see the debug surface beside the loopback interface. */
  debugClients?: string[]
  /** Host names that may ask for it beside the local ones, or whose pages may; `*` for any. */
  debugHosts?: string[]
}

/** Who is shown what in debug mode. */
export interface DebugAccess {
  /** Whether a request is a developer's, who is told where its profile is. */
  maySeeDebug: (request: FastifyRequest) => boolean
  /** Whether what was found out may be in the answer: a page elsewhere can read what the CORS rules of the application let everybody read. */
  mayReadDebug: (request: FastifyRequest) => boolean
}

/** What is known of a client by its address alone. */
type Kind = 'allowed' | 'other' | 'none'

/** RFC 7239, section 5.3. */
const FORWARDED_HOST = /\bhost\s*=\s*(?:"([^"]*)"|([^\s;,"]+))/gi
const isLoopback = proxyAddr.compile('loopback')
const isPrivate = proxyAddr.compile(['loopback', 'linklocal', 'uniquelocal'])

/**
 * Makes the functions that decide who may see source, logs and headers: the client by its address, and the `Host` because a
 * page of a stranger can bring any name to a local address (DNS rebinding). Nobody is known behind a Unix socket.
 */
export function debugAccess (
  app: FastifyInstance,
  debug: boolean,
  originOf: (request: FastifyRequest) => Origin,
  { debugClients = [], debugHosts = [] }: DebugAccessOptions
): DebugAccess {
  if (!debug) return { maySeeDebug: () => false, mayReadDebug: () => false }
  const isNamed = compileClients(debugClients)
  const hosts = new Set(debugHosts.map((host) => host.toLowerCase()))
  const clients = new LimitedMap<Kind>(1_000, 50_000)
  let wide: boolean | null = null

  return { maySeeDebug, mayReadDebug: (request) => maySeeDebug(request) && (isInjection(request.raw) || pageAllowed(request)) }

  function maySeeDebug (request: FastifyRequest): boolean {
    const state = stateOf(request)
    return (state.maySeeDebug ??= isInjection(request.raw) ? askerAllowed(request) : (clientAllowed(originOf(request).ip) && hostAllowed(originOf(request), request)))
  }

  // What a handler injects it asks for its own client, who may be anybody; what nobody asked for came over no network.
  function askerAllowed ({ raw }: FastifyRequest): boolean {
    const asker = requestContext.getStore()?.request
    return asker === undefined || asker.raw === raw || servicesOf(asker).mayReadDebug(asker)
  }

  function clientAllowed (ip: string): boolean {
    const known = clients.get(ip) ?? kindOf(ip)
    if (known !== 'other') return known === 'allowed'
    wide ??= boundBeyondLoopback(app)
    return wide && isPrivate(ip, 0)
  }

  // To read an address takes longer than to look it up, and the same clients come again.
  function kindOf (ip: string): Kind {
    const kind = isIP(ip) === 0 ? 'none' : isLoopback(ip, 0) || isNamed(ip, 0) ? 'allowed' : 'other'
    clients.set(ip, kind)
    return kind
  }

  function hostAllowed ({ host, problem }: Origin, request: FastifyRequest): boolean {
    if (hosts.has('*')) return true
    const { raw } = request
    // A message whose host cannot be read was brought by no page: browsers send valid ones.
    if (host === '') return problem !== null && !hasHostOf(request)
    // A proxy tells what it was asked for, which a page can choose as well: neither name hides the other.
    return nameAllowed(host) && sentAllowed(raw.headers.host) && sentAllowed(raw.headers[':authority']) && forwardedAllowed(raw.headers)
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

  // A tunnel that asks for a local name may be open to everybody: the name that it was asked for can only take away, so it need not be trusted.
  function forwardedAllowed ({ 'x-forwarded-host': names, forwarded }: IncomingHttpHeaders): boolean {
    if (names === undefined && forwarded === undefined) return true
    const told = [names ?? []].flat().join().split(',')
    for (const [, quoted, plain] of (forwarded ?? '').matchAll(FORWARDED_HOST)) told.push(quoted ?? plain ?? '')
    return told.every(sentAllowed)
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
  return addresses.some((address: AddressInfo | string) => typeof address === 'object' && !isLoopback(address.address, 0))
}

function compileClients (debugClients: string[]): (address: string, hop: number) => boolean {
  if (debugClients.length === 0) return () => false
  try {
    return proxyAddr.compile(debugClients)
  } catch (error) {
    throw new Error(`debugClients (DEBUG_CLIENTS): ${(error as Error).message}; use addresses, CIDR ranges, loopback, linklocal or uniquelocal`)
  }
}
