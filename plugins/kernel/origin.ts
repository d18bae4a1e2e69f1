import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'
import proxyAddr from '@fastify/proxy-addr'
import parseForwarded from 'forwarded-parse'
import type { FastifyRequest } from 'fastify'
import { badRequest } from './http-errors.js'
import { headerText, isRepeated, joinedHeader } from './header-text.js'
import { kTarget, pathOf } from './malformed.js'
import type { Origin } from './request-origin.js'
import { stateOf } from './request-state.js'

export interface OriginOptions {
  /** Addresses, CIDR ranges or the names `loopback`, `linklocal`, `uniquelocal`; none: forwarding headers are ignored. */
  trustedProxies?: string[]
  /** Host names; `*.example.com` stands for any name below; expressions are matched against the whole name. None: any host. */
  trustedHosts?: Array<string | RegExp>
}

type Forwarded = Partial<Record<'for' | 'host' | 'proto' | 'port' | 'prefix', string[]>>

/** Makes the function that finds a request's origin once and remembers it; it never throws. */
export function originResolver ({ trustedProxies = [], trustedHosts = [] }: OriginOptions = {}): (request: FastifyRequest) => Origin {
  const trusts = compileTrust(trustedProxies)
  const hosts = trustedHosts.map(hostPattern)
  return (request) => {
    const state = stateOf(request)
    return (state.origin ??= resolve(request.raw, trusts, hosts))
  }
}

function compileTrust (trustedProxies: string[]): (address: string, hop: number) => boolean {
  if (trustedProxies.length === 0) return () => false
  try {
    return proxyAddr.compile(trustedProxies)
  } catch (error) {
    throw new Error(`trustedProxies (TRUSTED_PROXIES): ${(error as Error).message}; use addresses, CIDR ranges, loopback, linklocal or uniquelocal`)
  }
}

function hostPattern (pattern: string | RegExp): RegExp {
  if (pattern instanceof RegExp) return pattern
  const escaped = pattern.toLowerCase().replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/^\\\*\\\./, '(?:[^.]+\\.)+')
  return new RegExp(`^${escaped}$`, 'i')
}

function resolve (raw: IncomingMessage, trusts: (address: string, hop: number) => boolean, hosts: RegExp[]): Origin {
  const remote = raw.socket.remoteAddress ?? ''
  const trusted = remote !== '' && trusts(remote, 0)
  const [forwarded, conflict] = trusted ? forwardedValues(raw) : [{}, null]
  const scheme = forwarded.proto !== undefined
    ? /^(?:https|on|ssl|1)$/i.test(forwarded.proto[0] ?? '') ? 'https' : 'http'
    : (raw.socket as TLSSocket).encrypted ? 'https' : 'http'
  const sent = headerText(forwarded.host?.[0] ?? raw.headers.host ?? '').trim()
  const text = (sent === '' ? localAuthority(raw) : sent).toLowerCase()
  const host = text.replace(/:\d+$/, '')
  const problem = conflict ?? hostProblem(raw, host, sent, hosts)
  const port = Number(forwarded.port?.[0]?.replace(/^.*:/, '') ?? /:(\d+)$/.exec(text)?.[1] ?? 0)
  const plain = port === 0 || port === (scheme === 'https' ? 443 : 80)
  const valid = problem === null || problem === conflict
  return {
    scheme,
    host: valid ? host : '',
    authority: valid ? plain ? host : `${host}:${port}` : '',
    prefix: forwardedPrefix(forwarded.prefix?.[0]),
    ip: clientIp(raw, forwarded, trusts),
    problem
  }
}

function hostProblem (raw: IncomingMessage, host: string, sent: string, hosts: RegExp[]): Error | null {
  if (raw.headers.host === undefined && raw.httpVersion === '1.1' && sent === '' && raw[kTarget] === undefined) {
    return badRequest('Missing Host: an HTTP/1.1 request needs one (RFC 9112, section 3.2).')
  }
  // RFC 9112, section 3.2: more than one is refused; Node.js takes the first.
  if (isRepeated(raw.rawHeaders, 'host')) return badRequest(`Invalid Host "${joinedHeader(raw.rawHeaders, 'host')}".`)
  if (!/^(?:\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?):?$/.test(host)) return badRequest(`Invalid Host "${host}".`)
  if (hosts.length > 0 && !hosts.some((pattern) => pattern.test(host))) return badRequest(`Untrusted Host "${host}".`)
  return null
}

// A request without a host is about the address that it arrived at.
function localAuthority ({ socket: { localAddress = 'localhost', localPort } }: IncomingMessage): string {
  const address = localAddress.replace(/^::ffff:/, '')
  const host = address.includes(':') ? `[${address}]` : address
  return localPort === undefined ? host : `${host}:${localPort}`
}

function forwardedValues (raw: IncomingMessage): [Forwarded, Error | null] {
  const values: Forwarded = {}
  let conflict: Error | null = null
  const standard = standardForwarded(raw.headers.forwarded)
  for (const name of ['for', 'host', 'proto', 'port', 'prefix'] as const) {
    const own = list(raw.headers[`x-forwarded-${name}`])
    const other = name === 'port' || name === 'prefix' ? undefined : standard?.[name]
    if (own !== undefined && other !== undefined && own.join() !== other.join()) conflict ??= conflictError(name)
    const value = own ?? other
    if (value !== undefined) values[name] = value
  }
  return [values, conflict]
}

function standardForwarded (header: string | undefined): Forwarded | undefined {
  if (header === undefined) return undefined
  const values: Forwarded = {}
  try {
    for (const element of parseForwarded(header)) {
      for (const name of ['for', 'host', 'proto'] as const) {
        const value = element[name]
        if (value !== undefined) (values[name] ??= []).push(name === 'for' ? nodeAddress(value) : value)
      }
    }
    return values
  } catch {
    return undefined
  }
}

// RFC 7239, section 6: IPv6 in brackets, either with a port.
function nodeAddress (node: string): string {
  return /^\[([^\]]+)\]/.exec(node)?.[1] ?? node.replace(/:\d+$/, '')
}

function list (header: string | string[] | undefined): string[] | undefined {
  if (header === undefined) return undefined
  const text = Array.isArray(header) ? header.join() : header
  return text.split(',').map((part) => part.trim())
}

function conflictError (name: string): Error {
  return badRequest(`The request has both a trusted "FORWARDED" header and a trusted "X_FORWARDED_${name.toUpperCase()}" header, conflicting with each other. You should either configure your proxy to remove one of them, or configure your project to distrust the offending one.`)
}

function forwardedPrefix (prefix: string | undefined): string {
  return prefix !== undefined && /^(?:\/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+\/?$/.test(prefix) ? prefix.replace(/\/$/, '') : ''
}

function clientIp (raw: IncomingMessage, forwarded: Forwarded, trusts: (address: string, hop: number) => boolean): string {
  const remote = raw.socket.remoteAddress ?? ''
  if (forwarded.for === undefined) return remote
  const message = { socket: raw.socket, headers: { 'x-forwarded-for': forwarded.for.join(',') } } as unknown as IncomingMessage
  try {
    return proxyAddr(message, trusts)
  } catch {
    return remote
  }
}

/** The target as the client sent it: path and query, percent-encoding kept. */
export function targetOf (request: FastifyRequest): string {
  const { raw } = request
  return headerText(pathOf(raw[kTarget] ?? request.originalUrl))
}

/** The target's path, without query and fragment. */
export function pathnameOf (request: FastifyRequest): string {
  const target = targetOf(request)
  const end = target.search(/[?#]/)
  return end === -1 ? target : target.slice(0, end)
}

/** Scheme, authority and prefix in front of a path; the path alone where the host is invalid. */
export function absoluteUrl ({ scheme, authority, prefix }: Origin, path: string): string {
  return authority === '' ? `${prefix}${path}` : `${scheme}://${authority}${prefix}${path}`
}
