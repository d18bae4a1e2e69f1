import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

/** `X-Forwarded-For`, `X-Real-IP`, `CF-Connecting-IP`, `X-Azure-ClientIP` and similar headers. */
const ADDRESS_HEADER = new RegExp('(?:^|-)(?:(?:forward(?:ed)?|proxied|original)-for|coming-from|ip(?:v[46])?|' +
  '(?:client|real|remote|originating|connecting|connection|external|source|socket|viewer|user|peer)-?' +
  '(?:ip(?:v[46])?|addr(?:ess)?))$')
const HOST_HEADER = /(?:^|-)(?:forwarded-(?:host|server)|original-host)$/
/** Other headers that proxies add. */
const PROXY_HEADER = new RegExp('^x-forwarded(?:-|$)|-forwarded-proto$|^(?:cdn-loop|cf-(?:ray|visitor|ipcountry)|' +
  'fastly-ssl|front-end-https|x-(?:amz-cf-id|arr-(?:ssl|log-id)|azure-(?:ref|fdid)|nginx-proxy|original-proto|proto|' +
  '(?:url-)?scheme|vercel-id))$')
/** A longer header counts as one that cannot be read. */
const MAX_LENGTH = 2_000

/**
 * The addresses and hosts in all forwarding headers, without ports; empty where one cannot be read. `isAnonymous`: the
 * headers prove that the request passed a proxy, and do not contain the address of its client.
 */
export function forwardingNames (headers: IncomingHttpHeaders) {
  const names = Object.keys(headers)
  const elements = listOf(headers.forwarded).map((element) => element.split(';').map(forwardedPair))
  const valuesOf = (...wanted: string[]): string[] =>
    elements.flat().filter(([name]) => wanted.includes(name)).map(([, value]) => value)
  const clients = [
    ...names.filter((name) => ADDRESS_HEADER.test(name)).flatMap((name) => listOf(headers[name])),
    ...valuesOf('for', 'unreadable')
  ]
  const hosts = [
    ...names.filter((name) => HOST_HEADER.test(name)).flatMap((name) => listOf(headers[name])), ...valuesOf('host'),
    ...receivers(headers.via)
  ]
  const isAnonymous = elements.some(hidesClient) ||
    (clients.length === 0 && names.some((name) => PROXY_HEADER.test(name) && !HOST_HEADER.test(name)))
  return {
    addresses: [...clients, ...valuesOf('by')].map(nodeAddress),
    hosts: hosts.map((host) => nodeAddress(host).toLowerCase()),
    isAnonymous
  }
}

/** The address of a node without its port (RFC 7239, section 6); IPv6 addresses with a port are in brackets. */
export function nodeAddress (node: string): string {
  if (isIP(node) !== 0) return node
  return /^\[([^\]]+)\](?::[\w.-]+)?$/.exec(node)?.[1] ?? node.replace(/:(?:\d+|_[\w.-]+)$/, '')
}

function listOf (header: string | string[] | undefined): string[] {
  if (header === undefined) return []
  const text = String(header)
  return text.length > MAX_LENGTH ? [''] : text.split(',').map((value) => value.trim())
}

type Pair = [name: string, value: string]

// RFC 7239, section 4. What cannot be read may name any client.
function forwardedPair (text: string): Pair {
  const [, name = 'unreadable', , value = ''] = /^([a-z]+)\s*=\s*("?)([^\s"]+)\2$/i.exec(text.trim()) ?? []
  return [name.toLowerCase(), value]
}

// An element that only names a host is that of a proxy whose clients are known by the host that they use.
function hidesClient (element: Pair[]): boolean {
  return element.some(([name]) => name !== 'host') && !element.some(([name]) => name === 'for')
}

// RFC 9110, section 7.6.3: `[<protocol>/]<version> <received by> [(<comment>)]`.
function receivers (via: string | undefined): string[] {
  return listOf(via?.replace(/\([^()]*\)/g, '')).map((entry) => /^\S+[ \t]+(\S+)$/.exec(entry)?.[1] ?? '')
}
