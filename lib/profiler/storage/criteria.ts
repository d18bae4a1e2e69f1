import { isIPv4 } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { IndexEntry } from '../summary.js'

/** The criteria of a search, already validated: a profile matches all that are given. */
export interface Criteria {
  token?: string
  /** An address, or a range in CIDR notation. */
  ip?: string
  /** In any case. */
  method?: string
  /** A status such as `404`, or a class such as `4xx`. */
  status?: string
  /** A part of the URL, in any case. */
  url?: string
  /** The whole name of the route; `*` stands for any part of it. */
  route?: string
  /** A part of the name or message of any exception of the chain, in any case. */
  exception?: string
  /** Milliseconds. */
  minDuration?: number
  /** Milliseconds since the epoch; the request arrived then or later. */
  from?: number
  /** Milliseconds since the epoch; the request arrived then or earlier. */
  until?: number
  error?: boolean
  /** The token of the request that caused it. */
  parent?: string
}

/** One comparison; `contains`: a part of a text, `matches`: the whole of a text, with `*` for any part. */
type Operator = '=' | '>=' | '<=' | 'contains' | 'matches'
export type Condition = [column: keyof ReturnType<typeof columnsOf>, operator: Operator, value: string | number]

/** The comparisons that all have to be true. */
export function conditionsOf (criteria: Criteria): Condition[] {
  const { token, parent, error, method, status, minDuration, from, until, ip, route, url, exception } = criteria
  const conditions: Condition[] = []
  if (token !== undefined) conditions.push(['token', '=', token])
  if (parent !== undefined) conditions.push(['parent', '=', parent])
  if (error !== undefined) conditions.push(['failure', '=', error ? 1 : 0])
  if (method !== undefined) conditions.push(['method', '=', method.toUpperCase()])
  if (minDuration !== undefined) conditions.push(['duration', '>=', minDuration])
  if (from !== undefined) conditions.push(['time', '>=', new Date(from).toISOString()])
  if (until !== undefined) conditions.push(['time', '<=', new Date(until).toISOString()])
  if (status !== undefined) {
    const [first, last] = [status.replace(/xx$/i, '00'), status.replace(/xx$/i, '99')]
    conditions.push(['status', '>=', Number(first)], ['status', '<=', Number(last)])
  }
  if (ip !== undefined) {
    const [first, last] = addressRange(ip)
    conditions.push(['ip_key', '>=', first], ['ip_key', '<=', last])
  }
  if (route !== undefined) conditions.push(['route', 'matches', route])
  if (url !== undefined && url !== '') conditions.push(['url_text', 'contains', url.toLowerCase()])
  if (exception !== undefined && exception !== '') {
    conditions.push(['exception_text', 'contains', exception.toLowerCase()])
  }
  return conditions
}

/** The values of a profile that searches compare: columns of the table `requests`. */
export function columnsOf ({ summary, exceptions }: IndexEntry) {
  const { token, time, duration, method, status, ip, route, parent, error, url } = summary
  return {
    token,
    time,
    duration,
    method,
    status,
    route,
    parent,
    failure: error ? 1 : 0,
    ip_key: addressKey(ip),
    url_text: url.toLowerCase(),
    exception_text: exceptions.toLowerCase()
  }
}

/** Returns a function that tests whether a profile matches: for stores without a query language. */
export function matcher (criteria: Criteria): (entry: IndexEntry) => boolean {
  const conditions = conditionsOf(criteria)
  return (entry) => {
    const columns = columnsOf(entry)
    return conditions.every(([column, operator, wanted]) => {
      const value = columns[column]
      return value !== null && isTrue(value, operator, wanted)
    })
  }
}

function isTrue (value: string | number, operator: Operator, wanted: string | number): boolean {
  switch (operator) {
    case '=': return value === wanted
    case '>=': return value >= wanted
    case '<=': return value <= wanted
    case 'contains': return String(value).includes(String(wanted))
    case 'matches': return matchesPattern(String(value), String(wanted))
  }
}

/**
 * An address as 32 hexadecimal digits that sort by number, IPv4 as an IPv4-mapped IPv6 address (RFC 4291, section
 * 2.5.5.2); empty for anything else.
 */
export function addressKey (address: string): string {
  if (isIPv4(address)) return IPV4_PREFIX + Buffer.from(address.split('.').map(Number)).toString('hex')
  if (!ipaddr.isValid(address)) return ''
  const parsed = ipaddr.process(address)
  const key = Buffer.from(parsed.toByteArray()).toString('hex')
  return parsed.kind() === 'ipv4' ? IPV4_PREFIX + key : key
}

/** The first and the last key of an address or of a range in CIDR notation. */
export function addressRange (wanted: string): [first: string, last: string] {
  if (!wanted.includes('/')) return [addressKey(wanted), addressKey(wanted)]
  const family = ipaddr.parseCIDR(wanted)[0].kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  const [first, last] = [family.networkAddressFromCIDR(wanted), family.broadcastAddressFromCIDR(wanted)]
  return [addressKey(first.toString()), addressKey(last.toString())]
}

const IPV4_PREFIX = `${'0'.repeat(20)}ffff`

// No regular expression: one with several stars takes exponential time on a hostile text.
function matchesPattern (text: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === pattern
  let at = first.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return text.startsWith(first) && text.length - last.length >= at && text.endsWith(last)
}
