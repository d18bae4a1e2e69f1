import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import parseForwarded from 'forwarded-parse'

/** What the forwarding headers of a request name. A value that cannot be read is the empty string. */
export interface ForwardingNames {
  /** Addresses of clients and proxies, without ports; also what stands for one (`unknown`, `_hidden`). */
  addresses: string[]
  /** Host names, addresses and pseudonyms of hosts and proxies, in lower case, without ports and brackets. */
  hosts: string[]
}

/** `X-Forwarded-For`, `X-Real-IP`, `CF-Connecting-IP`, `X-Azure-ClientIP` and their like. */
const ADDRESS_HEADER = /(?:^x-forwarded-for|(?:^|-)(?:client|real|remote|originating|connecting|connection|external|source|user)-?(?:ip(?:v6)?|addr(?:ess)?))$/
const HOST_HEADERS = ['x-forwarded-host', 'x-forwarded-server', 'x-original-host']
/** Limits the cost of a header; a longer one cannot be read. */
const MAX_LENGTH = 2_000
const MAX_VALUES = 20

/** The names in all forwarding headers, whoever sent them. */
export function forwardingNames (headers: IncomingHttpHeaders): ForwardingNames {
  const elements = forwardedElements(headers.forwarded)
  const valuesOf = (names: string[]): string[] => names.flatMap((name) => listed(headers[name]))
  const addressHeaders = Object.keys(headers).filter((name) => ADDRESS_HEADER.test(name))
  const parametersOf = (name: string): string[] => elements.flatMap((element) => element[name] ?? [])
  return {
    addresses: [...valuesOf(addressHeaders), ...parametersOf('for'), ...parametersOf('by')].map(nodeAddress),
    hosts: [...valuesOf(HOST_HEADERS), ...parametersOf('host'), ...receivers(headers.via)].map(hostName)
  }
}

/** The address of a node (RFC 7239, section 6): IPv6 in brackets, either with a port. */
export function nodeAddress (node: string): string {
  if (isIP(node) !== 0) return node
  return /^\[([^\]]+)\](?::[\w.-]+)?$/.exec(node)?.[1] ?? node.replace(/:(?:\d+|_[\w.-]+)$/, '')
}

function hostName (authority: string): string {
  return nodeAddress(authority).toLowerCase()
}

function listed (header: string | string[] | undefined): string[] {
  if (header === undefined) return []
  const values = String(header).slice(0, MAX_LENGTH + 1).split(',').map((value) => value.trim())
  return isTooLong(header) || values.length > MAX_VALUES ? [''] : values
}

function isTooLong (header: string | string[]): boolean {
  return String(header).length > MAX_LENGTH
}

// RFC 7239, section 4.
function forwardedElements (header: string | undefined): Array<Record<string, string | undefined>> {
  if (header === undefined) return []
  try {
    const elements = isTooLong(header) ? [] : parseForwarded(header)
    // A parameter occurs at most once in an element (section 4); the parser keeps the last one.
    const isRepeated = ['for', 'by', 'host'].some((name) => header.split(new RegExp(`\\b${name}\\s*=`, 'i')).length - 1 > elements.length)
    if (elements.length > 0 && elements.length <= MAX_VALUES && !isRepeated) return elements
  } catch {
    // A header that cannot be parsed may name anybody.
  }
  return [{ for: '' }]
}

// RFC 9110, section 7.6.3: `[<protocol>/]<version> <received by> [(<comment>)]`.
function receivers (via: string | undefined): string[] {
  return listed(via?.replace(/\([^()]*\)/g, '')).map((entry) => /^\S+[ \t]+(\S+)$/.exec(entry)?.[1] ?? '')
}
