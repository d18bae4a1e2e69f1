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
  /** Parts of the URL, separated by blanks, in any case. */
  url?: string
  /** The whole name of the route; `*` matches any part of it. */
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
  const timeOf = (time: number | undefined) => time === undefined ? undefined : new Date(time).toISOString()
  const [firstAddress, lastAddress] = ip === undefined ? [] : addressRange(ip)
  const conditions: Array<readonly [Condition[0], Operator, value: Condition[2] | undefined]> = [
    ['token', '=', token],
    ['parent', '=', parent],
    ['failure', '=', error === undefined ? undefined : Number(error)],
    ['method', '=', method?.toUpperCase()],
    ['duration', '>=', minDuration],
    ['time', '>=', timeOf(from)],
    ['time', '<=', timeOf(until)],
    ['status', '>=', status && Number(status.replace(/xx$/i, '00'))],
    ['status', '<=', status && Number(status.replace(/xx$/i, '99'))],
    ['ip_key', '>=', firstAddress],
    ['ip_key', '<=', lastAddress],
    ['route', 'matches', route],
    // An empty part is in every text, also where there is none.
    ...(url ?? '').toLowerCase().split(/\s+/).map((part) => ['url_text', 'contains', part || undefined] as const),
    ['exception_text', 'contains', exception?.toLowerCase() || undefined]
  ]
  return conditions.filter((condition): condition is Condition => condition[2] !== undefined)
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
