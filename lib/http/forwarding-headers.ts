import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

/** `X-Forwarded-For`, `X-Real-IP`, `CF-Connecting-IP`, `X-Azure-ClientIP` and similar headers. */
const ADDRESS_HEADER = new RegExp('(?:^x-forwarded-for|' +
  '(?:^|-)(?:client|real|remote|originating|connecting|connection|external|source|user)-?(?:ip(?:v6)?|addr(?:ess)?))$')
const HOST_HEADERS = ['x-forwarded-host', 'x-forwarded-server', 'x-original-host']
/** A longer header counts as one that cannot be read. */
const MAX_LENGTH = 2_000

/** The addresses and hosts in all forwarding headers, without ports; empty where one cannot be read. */
export function forwardingNames (headers: IncomingHttpHeaders) {
  const pairs = listOf(headers.forwarded, /[,;]/).map(forwardedPair)
  const valuesOf = (...names: string[]): string[] =>
    pairs.filter(([name]) => names.includes(name)).map(([, value]) => value)
  const addressHeaders = Object.keys(headers).filter((name) => ADDRESS_HEADER.test(name))
  const addresses = [...addressHeaders.flatMap((name) => listOf(headers[name])), ...valuesOf('for', 'by', 'unreadable')]
  const hosts = [
    ...HOST_HEADERS.flatMap((name) => listOf(headers[name])), ...valuesOf('host'), ...receivers(headers.via)
  ]
  return { addresses: addresses.map(nodeAddress), hosts: hosts.map((host) => nodeAddress(host).toLowerCase()) }
}

/** The address of a node without its port (RFC 7239, section 6); IPv6 addresses with a port are in brackets. */
export function nodeAddress (node: string): string {
  if (isIP(node) !== 0) return node
  return /^\[([^\]]+)\](?::[\w.-]+)?$/.exec(node)?.[1] ?? node.replace(/:(?:\d+|_[\w.-]+)$/, '')
}

function listOf (header: string | string[] | undefined, separator: string | RegExp = ','): string[] {
  if (header === undefined) return []
  const text = String(header)
  return text.length > MAX_LENGTH ? [''] : text.split(separator).map((value) => value.trim())
}

// RFC 7239, section 4. What cannot be read may name any client.
function forwardedPair (text: string): [name: string, value: string] {
  const [, name = 'unreadable', , value = ''] = /^([a-z]+)\s*=\s*("?)([^\s"]+)\2$/i.exec(text) ?? []
  return [name.toLowerCase(), value]
}

// RFC 9110, section 7.6.3: `[<protocol>/]<version> <received by> [(<comment>)]`.
function receivers (via: string | undefined): string[] {
  return listOf(via?.replace(/\([^()]*\)/g, '')).map((entry) => /^\S+[ \t]+(\S+)$/.exec(entry)?.[1] ?? '')
}
