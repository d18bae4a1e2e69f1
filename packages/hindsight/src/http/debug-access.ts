import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { isIP, type AddressInfo } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isInjection } from 'light-my-request'
import { cachedFunction, cachedByObject } from '../call.js'
import { addressRanges, isHostSyntax, nodeAddress, withoutPort, type Origin } from './origin.js'

/** Who may see the debug surface of an application. */
export type DebugAccess = ReturnType<typeof debugAccess>

/** What the asynchronous context decides about an injected request. */
export interface InjectionAccess {
  /** Whether it is the replay of a stored request. */
  isReplay: () => boolean
  /** Whether the client of the request whose handler injects it may see the debug surface; true where there is none. */
  mayInject: (raw: IncomingMessage) => boolean
}

const isLoopback = addressRanges(['loopback'])
const isPrivate = addressRanges(['loopback', 'linklocal', 'uniquelocal'])
/** These name no host (RFC 7239, sections 6.2 and 6.3). */
const NO_HOST = /^(?:unknown$|_)/
/** The addresses of all interfaces, which browsers connect to by the loopback interface. */
const UNSPECIFIED = ['0.0.0.0', '::']

/** Makes the functions that decide by address, `Host` and forwarding headers about clients that receive source. */
export function debugAccess (
  app: FastifyInstance,
  debug: boolean,
  originOf: (request: FastifyRequest) => Origin,
  { isReplay, mayInject }: InjectionAccess,
  { debugClients = [], debugHosts = [] }: { debugClients?: string[], debugHosts?: string[] }
) {
  const isListed = addressRanges(debugClients, 'debugClients (DEBUG_CLIENTS)')
  const hosts = new Set(debugHosts.map(plainName))

  /** Whether the client of a request is a developer, who receives the token of the profile. */
  function isDebugClient (request: FastifyRequest): boolean {
    return debug && isMessageAllowed(request.raw)
  }

  /** Whether the response may have source and logs; false for a page of another site, which CORS may let read it. */
  function mayReceiveDetails (request: FastifyRequest): boolean {
    return isDebugClient(request) && isPageAllowed(request)
  }

  /**
   * Whether the response may have the reason for which its message was refused, without source, logs and token: where
   * the client is known, also for an invalid `Host`, and for forwarded hosts that conflict.
   */
  function mayReceiveReason (request: FastifyRequest): boolean {
    const origin = originOf(request)
    if (!debug || origin.problem === null || !maySee(request.raw) || !isClientKnown(origin, request)) return false
    const isForwarded = origin.proxies.length > 0 || areForwardedHostsAllowed(origin, request)
    const hosts = sentHosts(origin, request)
    return isForwarded && hosts.every((host) => !isHostSyntax(host) || isHostAllowed(host, origin)) &&
      isPageAllowed(request)
  }

  // An adapter of a serverless platform injects the requests of public clients. A request that a handler injects is
  // made for the client of that handler, too.
  function maySee (raw: IncomingMessage): boolean {
    return !isInjection(raw) || mayInject(raw)
  }

  const isMessageAllowed = cachedByObject((raw: IncomingMessage): boolean => {
    // A replay is made for the client that requested it.
    if (isInjection(raw) && isReplay()) return true
    const request = { raw } as FastifyRequest
    const origin = originOf(request)
    return maySee(raw) && isClientKnown(origin, request) && areForwardedHostsAllowed(origin, request) &&
      sentHosts(origin, request).every((host) => isHostAllowed(host, origin))
  })

  // Where the headers of a trusted proxy conflict about the client, each that they name must be allowed.
  function isOriginAllowed ({ ip, proxies }: Origin, addresses: string[]): boolean {
    if (ip !== '' || proxies.length === 0) return isClientAllowed(ip)
    return addresses.length > 0 && addresses.every(isClientAllowed)
  }

  function isClientAllowed (ip: string): boolean {
    return isLoopback(ip) || isListed(ip) || (isPrivate(ip) && isBoundBeyondLoopback(app))
  }

  // Forwarding headers can only deny access: a forged header gains nothing.
  function isClientKnown (origin: Origin, request: FastifyRequest): boolean {
    const { ip, proxies } = origin
    const { addresses, isAnonymous } = forwardingNames(request.raw.headers)
    if (!isOriginAllowed(origin, addresses)) return false
    // Browsers have sent HTTP/1.1 since 1999, some reverse proxies send 1.0. Unless the proxy is trusted, its headers
    // may be those of its client.
    const isOld = request.raw.httpVersion === '1.0'
    if (isOld && !isListed(ip) && (proxies.length === 0 || addresses.length === 0)) return false
    if (isAnonymous && !isListed(ip) && proxies.length === 0) return false
    return addresses.every((address) => proxies.includes(address) || isClientAllowed(address))
  }

  function areForwardedHostsAllowed ({ proxies }: Origin, { raw }: FastifyRequest): boolean {
    if (hosts.has('*')) return true
    return forwardingNames(raw.headers).hosts.every((host) => {
      if (isIP(host) !== 0) return hosts.has(host) || proxies.length > 0 || isClientAllowed(host)
      return !NO_HOST.test(host) && isNameAllowed(host)
    })
  }

  /** A page of another site can give any name to a local address (DNS rebinding): it must not be the host. */
  function isHostAllowed (host: string, { ip, proxies }: Origin): boolean {
    if (hosts.has('*')) return true
    // Remote clients use a public address as host: only those that are known by their address may.
    const isKnown = isListed(ip) || proxies.length > 0
    return isHostSyntax(host) && (isNameAllowed(host) || (isKnown && isIP(plainName(host)) !== 0))
  }

  // Pages cannot choose either header (Fetch, section 2.2.2; Fetch Metadata, section 2.4).
  function isPageAllowed (request: FastifyRequest, origin = request.headers.origin): boolean {
    const { 'sec-fetch-site': site } = request.headers
    if (origin === undefined || site === 'same-origin' || hosts.has('*')) return true
    if (!URL.canParse(origin)) return false
    const { protocol, hostname } = new URL(origin)
    if (protocol !== 'http:' && protocol !== 'https:') return false
    if (plainName(hostname) === plainName(originOf(request).host)) return true
    const address = plainName(hostname)
    return isIP(address) === 0 ? isNameAllowed(address) : isClientAllowed(address)
  }

  function isNameAllowed (host: string): boolean {
    const name = plainName(host)
    if (hosts.has(name)) return true
    if (isIP(name) !== 0) return isPrivate(name) || isListed(name) || UNSPECIFIED.includes(name)
    if (!isHostSyntax(name)) return false
    return !name.includes('.') || name.endsWith('.localhost') || name.endsWith('.test')
  }

  return { isDebugClient, isPageAllowed, mayReceiveDetails, mayReceiveReason }
}

/** The hosts in lower case, without ports: a page can also choose the host that a trusted proxy forwards. */
function sentHosts ({ sentHost }: Origin, { raw }: FastifyRequest): string[] {
  const { headers, headersDistinct: { host = [headers.host ?? ''] } = {} } = raw
  const sent = [sentHost, ...host, headers[':authority'] ?? ''].map((authority) => String(authority).trim())
  return [...new Set(sent.filter((authority) => authority !== ''))]
    .map((authority) => withoutPort(authority.toLowerCase()).replace(/:$/, ''))
}

/** A host in lower case, without an empty port, the brackets of an IPv6 address and the dot at the end of a name. */
function plainName (host: string): string {
  return host.toLowerCase().replace(/:$/, '').replace(/^\[|\]$|\.$/g, '')
}

function isBoundBeyondLoopback (app: FastifyInstance): boolean {
  const addresses: Array<AddressInfo | string> = app.server.listening ? app.addresses() : []
  return addresses.some((address) => typeof address === 'object' && !isLoopback(address.address))
}

/** `X-Forwarded-For`, `X-Real-IP`, `CF-Connecting-IP`, `X-Azure-ClientIP` and similar headers. */
const ADDRESS_HEADER = new RegExp('(?:^|-)(?:(?:forward(?:ed)?|proxied|original)-for|coming-from|ip(?:v[46])?|' +
  '(?:client|real|remote|originating|connecting|connection|external|source|socket|viewer|user|peer)-?' +
  '(?:ip(?:v[46])?|addr(?:ess)?))$')
/** `X-Forwarded-Host`, `X-Original-Host` and similar headers. */
export const HOST_HEADER = /(?:^|-)(?:forwarded-(?:host|server)|original-host)$/
/** Other headers that proxies add. */
const PROXY_HEADER = new RegExp('^x-forwarded(?:-|$)|-forwarded-proto$|^(?:cdn-loop|cf-(?:ray|visitor|ipcountry)|' +
  'fastly-ssl|front-end-https|x-(?:amz-cf-id|arr-(?:ssl|log-id)|azure-(?:ref|fdid)|nginx-proxy|original-proto|proto|' +
  '(?:url-)?scheme|vercel-id))$')
/** A longer header counts as one that cannot be read. */
const MAX_LENGTH = 2_000

/** What a header of this name means. Browsers send the same names with each request. */
const kindOf = cachedFunction((name: string) => ({
  isAddress: ADDRESS_HEADER.test(name),
  isHost: HOST_HEADER.test(name),
  isProxy: PROXY_HEADER.test(name)
}))

/**
 * The addresses and hosts in all forwarding headers, without ports; empty where one cannot be read. `isAnonymous`: the
 * headers prove that the request passed a proxy, and do not contain the address of its client.
 */
function forwardingNames (headers: IncomingHttpHeaders) {
  const names = Object.keys(headers)
  const elements = listOf(headers.forwarded).map((element) => element.split(';').map(forwardedPair))
  const valuesOf = (...wanted: string[]): string[] =>
    elements.flat().filter(([name]) => wanted.includes(name)).map(([, value]) => value)
  const listsOf = (kind: 'isAddress' | 'isHost'): string[] =>
    names.filter((name) => kindOf(name)[kind]).flatMap((name) => listOf(headers[name]))
  const clients = [...listsOf('isAddress'), ...valuesOf('for', 'unreadable')]
  const hosts = [...listsOf('isHost'), ...valuesOf('host'), ...receivers(headers.via)]
  // An element that only names a host is that of a proxy whose clients are known by the host that they use.
  const isAnonymous = elements.map((element) => element.map(([name]) => name))
    .some((parts) => !parts.includes('for') && parts.some((name) => name !== 'host')) ||
    (clients.length === 0 && names.some((name) => kindOf(name).isProxy && !kindOf(name).isHost))
  return {
    addresses: [...clients, ...valuesOf('by')].map(nodeAddress),
    hosts: hosts.map((host) => nodeAddress(host).toLowerCase()),
    isAnonymous
  }
}

function listOf (header: string | string[] | undefined): string[] {
  if (header === undefined) return []
  const text = String(header)
  return text.length > MAX_LENGTH ? [''] : text.split(',').map((value) => value.trim())
}

// RFC 7239, section 4. What cannot be read may name any client.
function forwardedPair (text: string): [name: string, value: string] {
  const [, name = 'unreadable', , value = ''] = /^([a-z]+)\s*=\s*("?)([^\s"]+)\2$/i.exec(text.trim()) ?? []
  return [name.toLowerCase(), value]
}

// RFC 9110, section 7.6.3: `[<protocol>/]<version> <received by> [(<comment>)]`.
function receivers (via: string | undefined): string[] {
  return listOf(via?.replace(/\([^()]*\)/g, '')).map((entry) => /^\S+[ \t]+(\S+)$/.exec(entry)?.[1] ?? '')
}
