import ipaddr from 'ipaddr.js'
import type { IndexEntry } from './summary.js'

/** The criteria of a search, already validated: a profile matches all that are given. Letters match in any case. */
export interface Criteria {
  token?: string
  /** An address. */
  ip?: string
  method?: string
  /** A status such as `404`, or a class such as `4xx`. */
  status?: string
  /** Parts of the URL, separated by blanks. */
  url?: string
  /** The whole name of the route; `*` matches any part of it. */
  route?: string
  /** A part of the name or message of any exception of the chain. */
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
  /** What parts add to the search, by name: the beginning of a value, or a comparison of a number such as `>20`. */
  values?: Record<string, string>
  /** A profile that matches one of these does not match. */
  not?: Criteria[]
}

/**
 * One comparison; `contains`: a part of a text, `matches`: the whole of a text, with `*` for any part, `mentions`: a
 * part of a text before its first empty line.
 */
type Operator = '=' | '>' | '<' | '>=' | '<=' | 'contains' | 'matches' | 'mentions'
/** `number`: the name of a number that a part adds to the search, which is compared in place of its column. */
export type Condition =
  [column: keyof ReturnType<typeof columnsOf>, operator: Operator, value: string | number, number?: string]

export function conditionsOf (criteria: Criteria): Condition[] {
  const { token, parent, error, method, status, minDuration, from, until, ip, route, url, exception } = criteria
  const { values = {} } = criteria
  const timeOf = (time: number | undefined) => time === undefined ? undefined : new Date(time).toISOString()
  const conditions: Array<readonly [Condition[0], Operator, value: Condition[2] | undefined, number?: string]> = [
    ['token', '=', token],
    ['parent', '=', parent],
    ['error', '=', error === undefined ? undefined : Number(error)],
    ['method', '=', method?.toUpperCase()],
    ['duration', '>=', minDuration],
    ['time', '>=', timeOf(from)],
    ['time', '<=', timeOf(until)],
    ['status', '>=', status && Number(status.replace(/xx$/i, '00'))],
    ['status', '<=', status && Number(status.replace(/xx$/i, '99'))],
    ['ip', '=', ip && normalizedAddress(ip)],
    ['route', 'matches', route],
    // An empty part is in every text, also where there is none.
    ...(url ?? '').split(/\s+/).map((part) => ['url', 'contains', part || undefined] as const),
    ['exceptions', 'mentions', exception || undefined],
    ...Object.entries(values).map(([name, text]) => {
      const [, operator, number] = /^([<>]=?|=)(\d{1,9})$/.exec(text) ?? []
      return number === undefined || !/^[\w+]+$/.test(name)
        ? ['exceptions', 'contains', `\n${name}=${text}`] as const
        : ['exceptions', operator as Operator, Number(number), name] as const
    })
  ]
  return conditions.filter((condition): condition is Condition => condition[2] !== undefined)
}

/** The values of a profile that searches compare, by the columns of a table. */
export function columnsOf ({ summary, exceptions }: IndexEntry) {
  const { token, time, duration, method, url, status, ip, route, parent, error, values } = summary
  // After an empty line, each value has a line of its own: `name=value`.
  const lines = Object.entries(values ?? {}).map(([name, value]) => `\n${name}=${value}`)
  const text = lines.length === 0 ? exceptions : `${exceptions}\n${lines.join('')}`
  return { token, time, duration, method, url, status, ip, route, parent, error: error ? 1 : 0, exceptions: text }
}

/** The values of a summary, from the column `exceptions`; undefined where there are none. */
export function valuesIn (exceptions: string): Record<string, string> | undefined {
  const [, lines] = exceptions.split('\n\n')
  return lines === undefined
    ? undefined
    : Object.fromEntries(lines.split('\n').map((line) => /^([^=]+)=(.*)$/.exec(line)?.slice(1) ?? []))
}

/** Returns a function that tests whether a profile matches: for stores without a query language. */
export function criteriaMatcher (criteria: Criteria): (entry: IndexEntry) => boolean {
  const conditions = conditionsOf(criteria)
  const excluded = (criteria.not ?? []).map(criteriaMatcher)
  return (entry) => {
    if (excluded.some((matches) => matches(entry))) return false
    const columns = columnsOf(entry)
    return conditions.every(([column, operator, wanted, number]) => {
      const value = number === undefined ? columns[column] : numberIn(columns.exceptions, number)
      return value !== null && TESTS[operator](value, wanted)
    })
  }
}

function numberIn (exceptions: string, name: string): number | null {
  const value = valuesIn(exceptions)?.[name]
  return value === undefined || Number.isNaN(Number(value)) ? null : Number(value)
}

const TESTS: Record<Operator, (value: string | number, wanted: string | number) => boolean> = {
  '=': (value, wanted) => value === wanted,
  '>': (value, wanted) => value > wanted,
  '<': (value, wanted) => value < wanted,
  '>=': (value, wanted) => value >= wanted,
  '<=': (value, wanted) => value <= wanted,
  mentions: (value, wanted) => lowerCase(value).split('\n\n', 1).join().includes(lowerCase(wanted)),
  contains: (value, wanted) => lowerCase(value).includes(lowerCase(wanted)),
  matches: (value, wanted) => matchesPattern(lowerCase(value), lowerCase(wanted))
}

function lowerCase (value: string | number): string {
  return String(value).toLowerCase()
}

// As Node.js writes addresses, and an IPv4-mapped one (RFC 4291, section 2.5.5.2) as IPv4.
function normalizedAddress (address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address
}

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
