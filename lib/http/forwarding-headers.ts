import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import parseForwarded from 'forwarded-parse'

/** What the forwarding headers of a request name. A value that cannot be read is the empty string. */
interface ForwardingNames {
  /** Addresses of clients and proxies without ports; also `unknown` and obfuscated identifiers such as `_hidden`. */
  addresses: string[]
  /** Host names, addresses and pseudonyms of hosts and proxies, in lower case, without ports and brackets. */
  hosts: string[]
}

/** `X-Forwarded-For`, `X-Real-IP`, `CF-Connecting-IP`, `X-Azure-ClientIP` and similar headers. */
const ADDRESS_HEADER = new RegExp('(?:^x-forwarded-for|' +
  '(?:^|-)(?:client|real|remote|originating|connecting|connection|external|source|user)-?(?:ip(?:v6)?|addr(?:ess)?))$')
const HOST_HEADERS = ['x-forwarded-host', 'x-forwarded-server', 'x-original-host']
/** A longer header counts as one that cannot be read. */
const MAX_LENGTH = 2_000
const MAX_VALUES = 20

/** The names in all forwarding headers, whether a proxy or a client sent them. */
export function forwardingNames (headers: IncomingHttpHeaders): ForwardingNames {
  const elements = forwardedElements(headers.forwarded)
  const parameters = (name: string): string[] => elements.flatMap((element) => element[name] ?? [])
  const addressHeaders = Object.keys(headers).filter((name) => ADDRESS_HEADER.test(name))
  const addresses = [
    ...addressHeaders.flatMap((name) => listOf(headers[name])), ...parameters('for'), ...parameters('by')
  ]
  const hosts = [
    ...HOST_HEADERS.flatMap((name) => listOf(headers[name])), ...parameters('host'), ...receivers(headers.via)
  ]
  return { addresses: addresses.map(nodeAddress), hosts: hosts.map((host) => nodeAddress(host).toLowerCase()) }
}

/** The address of a node without its port (RFC 7239, section 6); IPv6 addresses with a port are in brackets. */
export function nodeAddress (node: string): string {
  if (isIP(node) !== 0) return node
  return /^\[([^\]]+)\](?::[\w.-]+)?$/.exec(node)?.[1] ?? node.replace(/:(?:\d+|_[\w.-]+)$/, '')
}

function listOf (header: string | string[] | undefined): string[] {
  if (header === undefined) return []
  const text = String(header)
  const values = text.slice(0, MAX_LENGTH).split(',').map((value) => value.trim())
  return text.length > MAX_LENGTH || values.length > MAX_VALUES ? [''] : values
}

// RFC 7239, section 4.
function forwardedElements (header: string | undefined): Array<Record<string, string | undefined>> {
  if (header === undefined) return []
  try {
    const elements = header.length > MAX_LENGTH ? [] : parseForwarded(header)
    // A parameter may occur only once in an element; the parser would use the last one.
    const isRepeated = ['for', 'by', 'host'].some((name) =>
      header.split(new RegExp(`\\b${name}\\s*=`, 'i')).length - 1 > elements.length)
    if (elements.length > 0 && elements.length <= MAX_VALUES && !isRepeated) return elements
  } catch {
    // An unreadable header may name any client.
  }
  return [{ for: '' }]
}

// RFC 9110, section 7.6.3: `[<protocol>/]<version> <received by> [(<comment>)]`.
function receivers (via: string | undefined): string[] {
  return listOf(via?.replace(/\([^()]*\)/g, '')).map((entry) => /^\S+[ \t]+(\S+)$/.exec(entry)?.[1] ?? '')
}
