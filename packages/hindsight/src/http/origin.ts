import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import proxyAddr from '@fastify/proxy-addr'
import parseForwarded from 'forwarded-parse'
import { cachedFunction } from '../call.js'
import { headerText, joinedHeader } from './requests.js'
import { badRequest } from './http-errors.js'

/** Where a request was sent to and where it came from, as far as trusted parties report it. */
export interface Origin {
  scheme: 'http' | 'https'
  /** Lower case; `host`, or `host:port` where the port is not the scheme's default. Empty where the host is invalid. */
  authority: string
  /** The authority without its port. */
  host: string
  /** The same, also where it is invalid or not trusted. */
  sentHost: string
  /** The path under which a trusted proxy serves the application; empty or with a leading slash. */
  prefix: string
  /** The client's address. Empty on a Unix socket, and where the headers of a trusted proxy do not contain it. */
  ip: string
  /** The addresses of the trusted proxies that the request passed, the nearest first. */
  proxies: string[]
  /** Why request validation refuses the request. */
  problem: Error | null
}

const NAMES = ['for', 'host', 'proto', 'port', 'prefix'] as const
type ForwardedValues = Partial<Record<typeof NAMES[number], string[]>>
const UNKNOWN_CLIENT: ForwardedValues = { for: [''] }

const HOST_NAME = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?$/
const PREFIX = /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+\/?$/

interface OriginOptions {
  trustedProxies?: string[]
  trustedHosts?: ReadonlyArray<string | RegExp>
}

/** Makes the function that finds the origin of a request; it never throws. Throws itself for an invalid option. */
export function originResolver (
  { trustedProxies = [], trustedHosts = [] }: OriginOptions
): (request: FastifyRequest) => Origin {
  const isTrusted = addressRanges(trustedProxies, 'trustedProxies (TRUSTED_PROXIES)')
  const hosts = trustedHosts.map(hostPattern)
  // Most requests name one of a few hosts.
  const authorityOf = cachedFunction(
    (text: string) => parseAuthority(text, hosts), ({ problem }) => problem === null)
  // Of this application: another one may receive the same message. A map takes 2 % of the time of a request.
  const kOrigin: unique symbol = Symbol('hindsight.origin')
  return ({ raw }: { raw: IncomingMessage & { [kOrigin]?: Origin } }) =>
    (raw[kOrigin] ??= resolve(raw, isTrusted, authorityOf))
}

function hostPattern (pattern: string | RegExp): RegExp {
  if (pattern instanceof RegExp) return pattern
  const escaped = pattern.toLowerCase().replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/^\\\*\\\./, '(?:[^.]+\\.)+')
  return new RegExp(`^${escaped}$`, 'i')
}

/** What the text of an authority says, in lower case; `port` is empty where it has none. */
interface Authority {
  host: string
  port: string
  problem: Error | null
}

function parseAuthority (text: string, trustedHosts: RegExp[]): Authority {
  const authority = headerText(text).trim().toLowerCase()
  const host = withoutPort(authority)
  return { host, port: authority.slice(host.length + 1), problem: hostProblem(host, trustedHosts) }
}

function resolve (raw: IncomingMessage, isTrusted: Ranges, authorityOf: (text: string) => Authority): Origin {
  const { encrypted = false, remoteAddress = '' } = socketOf(raw)
  const { values, problem } = isTrusted(remoteAddress) ? forwardedValues(raw) : { values: {}, problem: null }
  const isSecure = values.proto === undefined ? encrypted : /^(?:https|on|ssl|1)$/i.test(values.proto[0] ?? '')
  const sent = values.host?.[0] ?? targetAuthority(raw) ?? raw.headers.host ?? ''
  const { host, port: givenPort, problem: hostRefusal } = authorityOf(sent.trim() || localAuthority(raw))
  const wrongHost = repeatedHost(raw) ?? hostRefusal
  const [port, wrongPort] = portOf(values.port?.[0]?.replace(/^.*:/, '') ?? (givenPort || '0'))
  const isDefaultPort = port === 0 || port === (isSecure ? 443 : 80)
  const shownPort = isDefaultPort ? '' : `:${port}`
  const { ip, proxies, problem: wrongClient } = clientOf(remoteAddress, values.for, isTrusted)
  const prefix = values.prefix?.[0] ?? ''
  return {
    scheme: isSecure ? 'https' : 'http',
    host: wrongHost === null ? host : '',
    sentHost: host,
    authority: wrongHost === null && wrongPort === null ? host + shownPort : '',
    prefix: PREFIX.test(prefix) ? prefix.replace(/\/$/, '') : '',
    ip,
    proxies,
    problem: problem ?? wrongClient ?? wrongHost ?? wrongPort
  }
}

/** The host of an authority. */
export function withoutPort (authority: string): string {
  return isWithoutPort(authority) ? authority : authority.replace(/:\d+$/, '')
}

/** Whether text has no port: the end of an IPv6 address that lacks a bracket is none. */
function isWithoutPort (text: string): boolean {
  // An address has no colon, or several; of other texts `isIP` would try all forms of IPv6.
  const mayBeAddress = !/^[^:]*:[^:]*$/.test(text)
  return (mayBeAddress && isIP(text) !== 0) || /^\[[^\]]*$/.test(text)
}

/** Whether text, in lower case, is an address as URLs have it, or a host name (RFC 1123, section 2.1; `_` is usual). */
export function isHostSyntax (host: string): boolean {
  const [, address] = /^\[(.*)\]$/.exec(host) ?? []
  return address === undefined ? HOST_NAME.test(host) : isIPv6(address)
}

// A message that another plugin has constructed has no socket, nor has one whose body was piped elsewhere.
function socketOf ({ socket }: { socket?: IncomingMessage['socket'] | null }): Partial<TLSSocket> {
  return (socket as TLSSocket | null | undefined) ?? {}
}

// The authority of a target in absolute form precedes the host header (RFC 9112, section 3.2.2), as does that of HTTP/2
// (RFC 9113, section 8.3.1).
function targetAuthority (raw: IncomingMessage & { originalUrl?: string }): string | undefined {
  const authority = raw.headers[':authority']
  if (authority !== undefined) return String(authority)
  return /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i.exec(raw.originalUrl ?? raw.url ?? '/')?.[1]
}

// RFC 9112, section 3.2: several are refused; Node.js would use the first.
function repeatedHost (raw: IncomingMessage): Error | null {
  // A message that a plugin of the application has constructed may have none.
  const rawHeaders = (raw as { rawHeaders?: string[] }).rawHeaders ?? []
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]?.toLowerCase() === 'host') count++
  return count > 1 ? badRequest(`Invalid Host "${joinedHeader(rawHeaders, 'host')}".`) : null
}

function hostProblem (host: string, trustedHosts: RegExp[]): Error | null {
  if (!isHostSyntax(host.replace(/:$/, ''))) return badRequest(`Invalid Host "${host}".`)
  const isTrusted = trustedHosts.length === 0 || trustedHosts.some((pattern) => pattern.test(host))
  if (isTrusted) return null
  return badRequest(`Untrusted Host "${host}".`)
}

// RFC 3986, section 3.2.3, with the range of TCP.
function portOf (text: string): [number, Error | null] {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return [port, null]
  return [0, badRequest(`Invalid port "${headerText(text)}": a port is a number from 0 to 65535.`)]
}

// The address at which a request without a host arrived.
function localAuthority (raw: IncomingMessage): string {
  const { localAddress = 'localhost', localPort } = socketOf(raw)
  const address = localAddress.replace(/^::ffff:/, '')
  const host = address.includes(':') ? `[${address}]` : address
  if (localPort === undefined) return host
  return `${host}:${localPort}`
}

/**
 * The values of a trusted proxy's forwarding headers. Where they conflict about a name, it has no value; where they
 * conflict about the client or cannot be parsed, the client is unknown.
 */
function forwardedValues ({ headers }: IncomingMessage): { values: ForwardedValues, problem: Error | null } {
  let values: ForwardedValues = {}
  let problem: Error | null = null
  try {
    if (headers.forwarded !== undefined) values = standardValues(headers.forwarded)
  } catch (error) {
    return { values: UNKNOWN_CLIENT, problem: error as Error }
  }
  for (const name of NAMES) {
    const header = headers[`x-forwarded-${name}`]
    if (header === undefined) continue
    const sent = String(header).split(',').map((value) => name === 'for' ? nodeAddress(value.trim()) : value.trim())
    const other = values[name]
    if (other === undefined || sent.join() === other.join()) {
      values[name] = sent
      continue
    }
    delete values[name]
    problem ??= forwardingConflict(name)
    if (name === 'for') values = { ...values, ...UNKNOWN_CLIENT }
  }
  return { values, problem }
}

function forwardingConflict (name: string): Error {
  return badRequest('The request has both a trusted "FORWARDED" header and a trusted ' +
    `"X_FORWARDED_${name.toUpperCase()}" header, conflicting with each other. You should either configure your ` +
    'proxy to remove one of them, or configure your project to distrust the offending one.')
}

function standardValues (header: string): ForwardedValues {
  try {
    const elements = parseForwarded(header)
    const values: ForwardedValues = {}
    for (const name of ['host', 'proto'] as const) {
      const found = elements.flatMap((element) => element[name] ?? [])
      if (found.length > 0) values[name] = found
    }
    // A hop without a client keeps its place in the list: what the client sent stays before it.
    if (elements.some((element) => element.for !== undefined)) {
      values.for = elements.map((element) => nodeAddress(element.for ?? 'unknown'))
    }
    return values
  } catch (error) {
    const { message } = error as Error
    throw badRequest(`Invalid Forwarded header "${headerText(header)}" (RFC 7239, section 4): ${message}.`)
  }
}

/** The client: from the nearest hop outward, as long as each hop is trusted; and the trusted hops. */
function clientOf (remote: string, hops: string[] = [], isTrusted: Ranges): Pick<Origin, 'ip' | 'proxies' | 'problem'> {
  const proxies: string[] = []
  let ip = remote
  while (isTrusted(ip)) {
    proxies.push(ip)
    const next = hops.at(-proxies.length)
    if (next === undefined) break
    ip = next
    if (isIP(ip) === 0 && !/^(?:unknown|_[\w.-]+)$/i.test(ip)) {
      const problem = badRequest(`Invalid client "${headerText(ip)}" in the forwarding header of a trusted proxy: ` +
        'it is neither an address nor "unknown" (RFC 7239, section 6).')
      return { ip: '', proxies, problem }
    }
  }
  return { ip, proxies, problem: null }
}

/** Whether the value of the header `Origin` is the origin of the request itself (RFC 6454, section 6.2). */
export function isSameOrigin (origin: string, { scheme, authority }: Origin): boolean {
  return authority !== '' && origin === `${scheme}://${authority}`
}

/** A path as an absolute URL of its request; only with the prefix if the host is invalid. */
export function absoluteUrl ({ scheme, authority, prefix }: Origin, path: string): string {
  return authority === '' ? `${prefix}${path}` : `${scheme}://${authority}${prefix}${path}`
}

type Ranges = (address: string) => boolean

/** RFC 4291, section 2.5.5.1: deprecated; the library reads such an address as IPv4-mapped, which is another one. */
const IPV4_COMPATIBLE = /^::\d+\./

/**
 * Compiles addresses, CIDR ranges and the names of @fastify/proxy-addr to a test, which is false for text that is no
 * address. Throws with the option's name.
 */
export function addressRanges (ranges: string[], option = ''): Ranges {
  try {
    const contains = proxyAddr.compile(ranges)
    // To parse an address takes longer than all else that is decided by it.
    return cachedFunction((address) => isIP(address) !== 0 && !IPV4_COMPATIBLE.test(address) && contains(address, 0))
  } catch (error) {
    const hint = 'use addresses, CIDR ranges, loopback, linklocal or uniquelocal'
    throw new Error(`${option}: ${(error as Error).message}; ${hint}`, { cause: error })
  }
}

/** The address of a node without its port (RFC 7239, section 6); IPv6 addresses with a port are in brackets. */
export function nodeAddress (node: string): string {
  if (isWithoutPort(node)) return node
  return /^\[([^\]]+)\](?::[\w.-]+)?$/.exec(node)?.[1] ?? node.replace(/:(?:\d+|_[\w.-]+)$/, '')
}
