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
  const [address, bits] = wanted.includes('/') ? ipaddr.parseCIDR(wanted) : [parsed(wanted), Infinity]
  if (address === null) return (ip) => ip === wanted
  const isIn = (other: ipaddr.IPv4 | ipaddr.IPv6): boolean => other.kind() === address.kind() && other.match(address, Math.min(bits, address.kind() === 'ipv4' ? 32 : 128))
  const range = address.kind() === 'ipv4' ? ipv4Range(address.toByteArray(), Math.min(bits, 32)) : null
  return (ip) => {
    // A search reads a million of these; parsing each would take two seconds.
    const plain = ipv4Number(ip)
    if (plain !== -1) return range !== null && plain >= range[0] && plain <= range[1]
    const other = parsed(ip)
    return other === null ? ip === wanted : isIn(other)
  }
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

function ipv4Range (bytes: readonly number[], bits: number): [lowest: number, highest: number] {
  const number = bytes.reduce((sum, byte) => sum * 256 + byte, 0)
  const size = 2 ** (32 - bits)
  const lowest = number - number % size
  return [lowest, lowest + size - 1]
}

/** What four decimal numbers with dots between stand for; -1 for anything else. */
function ipv4Number (ip: string): number {
  if (ip.length > 15) return -1
  let number = 0
  let part = -1
  let dots = 0
  for (let i = 0; i < ip.length; i++) {
    const code = ip.charCodeAt(i)
    if (code === 46) {
      if (part === -1 || ++dots > 3) return -1
      number = number * 256 + part
      part = -1
    } else if (code >= 48 && code <= 57 && part !== 0) {
      part = part === -1 ? code - 48 : part * 10 + code - 48
      if (part > 255) return -1
    } else return -1
  }
  return dots === 3 && part !== -1 ? number * 256 + part : -1
}
