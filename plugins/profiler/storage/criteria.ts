import ipaddr from 'ipaddr.js'
import type { IndexEntry } from './summary.js'

/** What a search asks for, checked already: all that is given must hold. */
export interface Criteria {
  token?: string
  /** An address, or a range as CIDR. */
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

/** Makes the function that tells whether a profile fits. */
export function matcher (criteria: Criteria): (entry: IndexEntry) => boolean {
  const { token, method, minDuration, from, until, error, parent } = criteria
  const tests: Array<(entry: IndexEntry) => boolean> = []
  if (token !== undefined) tests.push(({ summary }) => summary.token === token)
  if (parent !== undefined) tests.push(({ summary }) => summary.parent === parent)
  if (error !== undefined) tests.push(({ summary }) => summary.error === error)
  if (method !== undefined) tests.push(({ summary }) => summary.method.toUpperCase() === method.toUpperCase())
  if (criteria.status !== undefined) tests.push(statusTest(criteria.status))
  if (minDuration !== undefined) tests.push(({ summary }) => summary.duration >= minDuration)
  if (from !== undefined) tests.push(({ summary }) => Date.parse(summary.time) >= from)
  if (until !== undefined) tests.push(({ summary }) => Date.parse(summary.time) <= until)
  if (criteria.ip !== undefined) tests.push(ipTest(criteria.ip))
  if (criteria.route !== undefined) tests.push(routeTest(criteria.route))
  if (criteria.url !== undefined) tests.push(textTest(criteria.url, ({ summary }) => summary.url))
  if (criteria.exception !== undefined) tests.push(textTest(criteria.exception, ({ exceptions }) => exceptions))
  return (entry) => tests.every((test) => test(entry))
}

/** Whether an address is the given one or within the given range; IPv4 in IPv6 counts as IPv4. */
export function ipMatcher (wanted: string): (ip: string) => boolean {
  if (wanted.includes('/')) {
    const [range, bits] = ipaddr.parseCIDR(wanted)
    return (ip) => {
      const address = parsed(ip)
      return address !== null && address.kind() === range.kind() && address.match(range, bits)
    }
  }
  const normal = parsed(wanted)?.toNormalizedString() ?? wanted
  return (ip) => ip === wanted || parsed(ip)?.toNormalizedString() === normal
}

/** Whether a name is the wanted one, in which `*` stands for any part. */
export function nameMatcher (wanted: string): (name: string | null) => boolean {
  if (!wanted.includes('*')) return (name) => name === wanted
  // No expression: one with several stars takes exponential time on a hostile name.
  const [first = '', ...rest] = wanted.split('*')
  const last = rest.pop() ?? ''
  return (name) => {
    if (name === null || name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false
    let at = first.length
    for (const part of rest) {
      const found = name.indexOf(part, at)
      if (found === -1) return false
      at = found + part.length
    }
    return at <= name.length - last.length
  }
}

/** The statuses that a criterion names, lowest and highest. */
export function statusRange (wanted: string): [lowest: number, highest: number] {
  const low = Number(wanted.replace(/xx$/i, '00'))
  return /xx$/i.test(wanted) ? [low, low + 99] : [low, low]
}

function statusTest (wanted: string): (entry: IndexEntry) => boolean {
  const [lowest, highest] = statusRange(wanted)
  return ({ summary }) => summary.status >= lowest && summary.status <= highest
}

function ipTest (wanted: string): (entry: IndexEntry) => boolean {
  const fits = ipMatcher(wanted)
  return ({ summary }) => fits(summary.ip)
}

function routeTest (wanted: string): (entry: IndexEntry) => boolean {
  const fits = nameMatcher(wanted)
  return ({ summary }) => fits(summary.route)
}

function textTest (wanted: string, textOf: (entry: IndexEntry) => string): (entry: IndexEntry) => boolean {
  const lower = wanted.toLowerCase()
  return (entry) => textOf(entry).toLowerCase().includes(lower)
}

function parsed (ip: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  return ipaddr.isValid(ip) ? ipaddr.process(ip) : null
}
