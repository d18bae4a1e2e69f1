import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { TLSSocket } from 'node:tls'
import parseForwarded from 'forwarded-parse'
import type { FastifyRequest } from 'fastify'
import { rangesOfOption, type Ranges } from './address-ranges.js'
import { nodeAddress } from './forwarding-headers.js'
import { badRequest } from './http-errors.js'
import { headerText, isRepeated, joinedHeader } from './header-text.js'
import { LimitedMap } from '../lifecycle/limited-map.js'
import { kHostless, kTarget } from './malformed.js'
import type { Origin } from './request-origin.js'
import { stateOf } from '../lifecycle/request-state.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    origin?: Origin
  }
}

declare module '../lifecycle/services.js' {
  interface Services {
    originOf: (request: FastifyRequest) => Origin
  }
}

export interface OriginOptions {
  /** Addresses, CIDR ranges or the names `loopback`, `linklocal`, `uniquelocal`; none: forwarding headers are ignored. */
  trustedProxies?: string[]
  /** Host names; `*.example.com` stands for any name below; expressions are matched against the whole name. None: any host. */
  trustedHosts?: Array<string | RegExp>
}

type Forwarded = Partial<Record<'for' | 'host' | 'proto' | 'port' | 'prefix', string[]>>

/** What a trusted proxy tells, and what is wrong with that. */
interface Told {
  values: Forwarded
  problem: Error | null
  /** False: what is wrong concerns the client, nobody can say who it is. */
  tellsClient: boolean
}

// Texts, and characters of them, that one scheme remembers.
const MAX_HOSTS = 200
const MAX_HOSTS_LENGTH = 20_000
/** Characters of a forwarding header. */
const MAX_FORWARDING = 4_096
const FORWARDED_NAMES = ['for', 'host', 'proto', 'port', 'prefix'] as const
const FORWARDING = ['forwarded', ...FORWARDED_NAMES.map((name) => `x-forwarded-${name}`)]
const NOTHING: Told = { values: {}, problem: null, tellsClient: true }

/** Makes the function that finds a request's origin once and remembers it; it never throws. */
export function originResolver ({ trustedProxies = [], trustedHosts = [] }: OriginOptions = {}): (request: FastifyRequest) => Origin {
  const trusts = rangesOfOption(trustedProxies, 'trustedProxies (TRUSTED_PROXIES)')
  const hosts = trustedHosts.map(hostPattern)
  const told = trustedProxies.length > 0
  // What was found of a host that nothing is wrong with, by scheme and as it was sent: clients send the same few.
  const plain = { http: new LimitedMap<Origin>(MAX_HOSTS, MAX_HOSTS_LENGTH), https: new LimitedMap<Origin>(MAX_HOSTS, MAX_HOSTS_LENGTH) }
  return (request) => {
    const state = stateOf(request)
    return (state.origin ??= told ? resolve(request.raw, trusts, hosts) : found(request.raw))
  }

  function found (raw: IncomingMessage): Origin {
    const { headers: { host } } = raw
    const rawHeaders = rawHeadersOf(raw)
    const socket = socketOf(raw)
    const known = plain[socket.encrypted === true ? 'https' : 'http']
    if (targetAuthority(raw) !== undefined) return resolve(raw, trusts, hosts)
    const like = host === undefined ? undefined : known.get(host)
    if (like !== undefined && !isRepeated(rawHeaders, 'host')) {
      return { ...like, ip: socket.remoteAddress ?? '' }
    }
    const origin = resolve(raw, trusts, hosts)
    if (host !== undefined && host !== '' && origin.problem === null) known.set(host, origin)
    return origin
  }
}

function hostPattern (pattern: string | RegExp): RegExp {
  if (pattern instanceof RegExp) return pattern
  const escaped = pattern.toLowerCase().replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/^\\\*\\\./, '(?:[^.]+\\.)+')
  return new RegExp(`^${escaped}$`, 'i')
}

function resolve (raw: IncomingMessage, trusts: Ranges, hosts: RegExp[]): Origin {
  const socket = socketOf(raw)
  const remote = socket.remoteAddress ?? ''
  const told = trusts(remote) ? forwardedValues(raw) : NOTHING
  const forwarded = told.values
  const scheme = forwarded.proto !== undefined
    ? /^(?:https|on|ssl|1)$/i.test(forwarded.proto[0] ?? '') ? 'https' : 'http'
    : socket.encrypted === true ? 'https' : 'http'
  const sent = headerText(forwarded.host?.[0] ?? targetAuthority(raw) ?? raw.headers.host ?? '').trim()
  const text = (sent === '' ? localAuthority(raw) : sent).toLowerCase()
  const host = text.replace(/:\d+$/, '')
  const misnamed = hostProblem(raw, host, sent, hosts)
  const [port, misported] = portOf(forwarded.port?.[0]?.replace(/^.*:/, '') ?? /:(\d+)$/.exec(text)?.[1] ?? '0')
  const plain = port === 0 || port === (scheme === 'https' ? 443 : 80)
  const { ip, proxies, problem: misled } = clientOf(remote, forwarded.for, trusts)
  return {
    scheme,
    host: misnamed === null ? host : '',
    authority: misnamed === null && misported === null ? plain ? host : `${host}:${port}` : '',
    prefix: forwardedPrefix(forwarded.prefix?.[0]),
    ip: told.tellsClient ? ip : '',
    proxies,
    problem: told.problem ?? misled ?? misnamed ?? misported
  }
}

// A message that was made up by another plugin has none, nor has one any more whose body was piped away.
function socketOf ({ socket }: { socket?: IncomingMessage['socket'] | null }): Partial<Pick<TLSSocket, 'encrypted' | 'localAddress' | 'localPort' | 'remoteAddress'>> {
  return (socket as TLSSocket | null | undefined) ?? {}
}

function rawHeadersOf ({ rawHeaders }: { rawHeaders?: string[] }): string[] {
  return rawHeaders ?? []
}

// RFC 9112, section 3.2.2: a target in absolute form is about its own authority, whatever the host header says; RFC 9113, section 8.3.1: HTTP/2 tells it apart.
function targetAuthority (raw: IncomingMessage & { originalUrl?: string }): string | undefined {
  const authority = raw.headers[':authority']
  if (authority !== undefined) return String(authority)
  const target = raw.originalUrl ?? raw.url ?? '/'
  return target.charCodeAt(0) === 47 /* / */ ? undefined : /^[a-z][a-z0-9+.-]*:\/\/([^/?#]+)/i.exec(target)?.[1]
}

function hostProblem (raw: IncomingMessage, host: string, sent: string, hosts: RegExp[]): Error | null {
  // What a plugin of the application makes up for a request came over no connection.
  const isMessage = (raw.socket as unknown) !== undefined && raw[kTarget] === undefined
  // An application's own server refuses it already, unless `requireHostHeader: false` says that it need not.
  if (raw[kHostless] === true && raw.httpVersion === '1.1' && sent === '' && isMessage) {
    return badRequest('Missing Host: an HTTP/1.1 request needs one (RFC 9112, section 3.2).')
  }
  // RFC 9112, section 3.2: more than one is refused; Node.js takes the first.
  if (isRepeated(rawHeadersOf(raw), 'host')) return badRequest(`Invalid Host "${joinedHeader(raw.rawHeaders, 'host')}".`)
  if (!/^(?:\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?):?$/.test(host)) return badRequest(`Invalid Host "${host}".`)
  if (hosts.length > 0 && !hosts.some((pattern) => pattern.test(host))) return badRequest(`Untrusted Host "${host}".`)
  return null
}

// RFC 3986, section 3.2.3, and what TCP has room for.
function portOf (text: string): [number, Error | null] {
  const port = /^\d+$/.test(text) ? Number(text) : NaN
  if (port <= 65_535) return [port, null]
  return [0, badRequest(`Invalid port "${headerText(text)}": a port is a number from 0 to 65535.`)]
}

// A request without a host is about the address that it arrived at.
function localAuthority (raw: IncomingMessage): string {
  const { localAddress = 'localhost', localPort } = socketOf(raw)
  const address = localAddress.replace(/^::ffff:/, '')
  const host = address.includes(':') ? `[${address}]` : address
  return localPort === undefined ? host : `${host}:${localPort}`
}

function forwardedValues (raw: IncomingMessage): Told {
  const told: Told = { values: {}, problem: null, tellsClient: true }
  const long = FORWARDING.find((name) => String(raw.headers[name] ?? '').length > MAX_FORWARDING)
  if (long !== undefined) {
    const why = `Invalid ${long}: a forwarding header has at most ${MAX_FORWARDING} characters.`
    return { values: {}, problem: badRequest(why), tellsClient: false }
  }
  const standard = standardForwarded(raw.headers.forwarded)
  if (standard instanceof Error) {
    // What cannot be read may have told anything, the client above all: it does not count as the proxy itself.
    told.problem = standard
    told.tellsClient = false
  }
  for (const name of FORWARDED_NAMES) {
    const sent = list(raw.headers[`x-forwarded-${name}`])
    const own = name === 'for' ? sent?.map(nodeAddress) : sent
    const other = name === 'port' || name === 'prefix' || standard instanceof Error ? undefined : standard?.[name]
    if (own !== undefined && other !== undefined && said(own) !== said(other)) {
      told.problem ??= conflictError(name)
      if (name === 'for') told.tellsClient = false
    }
    const value = own ?? other
    if (value !== undefined) told.values[name] = value
  }
  return told
}

function said (values: string[]): string {
  return values.filter((value) => value !== UNKNOWN).join()
}

/** RFC 7239, section 6.2. */
const UNKNOWN = 'unknown'

function standardForwarded (header: string | undefined): Forwarded | Error | undefined {
  if (header === undefined) return undefined
  const values: Forwarded = {}
  try {
    const elements = parseForwarded(header)
    for (const element of elements) {
      for (const name of ['host', 'proto'] as const) {
        const value = element[name]
        if (value !== undefined) (values[name] ??= []).push(value)
      }
    }
    // A hop that does not say whom it stands for leaves the others where they are: what a client sent stays behind it.
    if (elements.some((element) => element.for !== undefined)) values.for = elements.map((element) => nodeAddress(element.for ?? UNKNOWN))
    return values
  } catch (error) {
    return badRequest(`Invalid Forwarded header "${headerText(header)}" (RFC 7239, section 4): ${(error as Error).message}.`)
  }
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

/** The client, from the nearest hop outwards as far as a trusted one names the next, and the trusted ones before it. */
function clientOf (remote: string, hops: string[] = [], trusts: Ranges): Pick<Origin, 'ip' | 'proxies' | 'problem'> {
  const proxies: string[] = []
  let ip = remote
  while (trusts(ip)) {
    proxies.push(ip)
    const next = hops.at(-proxies.length)
    if (next === undefined) break
    ip = next
    if (isIP(ip) === 0 && !/^(?:unknown|_[\w.-]+)$/i.test(ip)) {
      const why = 'it is neither an address nor "unknown" (RFC 7239, section 6)'
      const problem = `Invalid client "${headerText(ip)}" in the forwarding header of a trusted proxy: ${why}.`
      return { ip: '', proxies, problem: badRequest(problem) }
    }
  }
  return { ip, proxies, problem: null }
}

/** Scheme, authority and prefix in front of a path; the path alone where the host is invalid. */
export function absoluteUrl ({ scheme, authority, prefix }: Origin, path: string): string {
  return authority === '' ? `${prefix}${path}` : `${scheme}://${authority}${prefix}${path}`
}
