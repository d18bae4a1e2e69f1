/** Headers by lower-case name; one that came more than once is a list. */
export type RecordedHeaders = Partial<Record<string, string | string[]>>

/** A recorded case, as `cases.json` has it: what was sent to the reference, and what came back. */
export interface RecordedCase {
  id: string
  config: 'base' | 'proxy' | 'serializer' | 'prod'
  request: {
    method: string
    target: string
    headers: Array<[name: string, value: string]>
    bodyBytes?: number
  }
  response: {
    /** Null: the connection was closed without an answer. */
    status: number | null
    headers: RecordedHeaders
    title: string | null
    message: string | null
    cause: string | null
  }
}

/** A case with the octets that stand for it on the wire, as ISO 8859-1. */
export interface Case extends RecordedCase {
  bytes: string
}

/** What is compared of a response. Null: nothing was recorded, or there must be none of it. */
export interface Expectation {
  status: number | null
  mediaType: string | null
  title: string | RegExp | null
  message: string | RegExp | null
  cause: string | RegExp | null
  /** The application's content security policy without its nonces, or `own` for the one of the diagnostic page's own. */
  policy: string | null
  /** Where the profile is, without its token. */
  link: string | null
  /** The decoded `X-Debug-Exception`; octets that are no UTF-8 stay encoded. */
  debugException: string | RegExp | null
  /** Whether the response sets the cookie of a session. */
  session: boolean
  headers: ComparedHeaders
}

const LITERAL = [
  'access-control-allow-credentials', 'access-control-allow-origin', 'access-control-max-age', 'allow', 'cache-control', 'etag', 'location',
  'referrer-policy', 'www-authenticate', 'x-content-type-options', 'x-frame-options', 'x-robots-tag', 'x-xss-protection'
] as const
const LISTS = ['access-control-allow-headers', 'access-control-allow-methods', 'access-control-expose-headers', 'vary'] as const
export type ComparedHeaders = Partial<Record<typeof LITERAL[number] | typeof LISTS[number], string>>

const TOKEN = /\/_profiler\/[0-9a-f]{6}$/
const LONG = /(.)…\((\d+) characters\)$/su
const LATIN_1 = /^[\x00-\xff]*$/

// What the names of cases say of their form and the recorded fields cannot.
const WIRE: Record<string, (lines: string[]) => string> = {
  http20: ([first = '', ...fields]) => message([first.replace('HTTP/1.1', 'HTTP/2.0'), ...fields]),
  http09: ([first = '']) => `${first.replace(' HTTP/1.1', '')}\r\n`,
  'header-no-colon': (lines) => message([...lines, 'NoColonHere']),
  'header-space': (lines) => message([...lines, 'X Bad : 1']),
  'cl-te': ([first = '', ...fields]) => `${message([first.replace('GET', 'POST'), ...fields, 'Content-Length: 6', 'Transfer-Encoding: chunked'])}0\r\n\r\n`,
  'cl-bad': ([first = '', ...fields]) => message([first.replace('GET', 'POST'), ...fields, 'Content-Length: abc'])
}

// Of bodies only the length was recorded.
const BODIES = ['_method=DELETE', '{}']

function message (lines: string[]): string {
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Gives a recorded case its octets. */
export function onTheWire (recorded: RecordedCase): Case {
  const { id, request: { method, target, headers, bodyBytes = 0 }, response } = recorded
  const isOldHttp = id.endsWith('-http10')
  const asLatin1 = response.message?.includes('\ufffd') === true
  const lines = [`${method} ${target} HTTP/${isOldHttp ? '1.0' : '1.1'}`]
  for (const [name, value] of headers) {
    const whole = value.replace(/^.*$/su, (text) => {
      const [, character = '', length = '0'] = LONG.exec(text) ?? []
      return character === '' ? text : character.repeat(Number(length))
    })
    lines.push(`${name}: ${asLatin1 && LATIN_1.test(whole) ? whole : Buffer.from(whole, 'utf8').toString('latin1')}`)
  }
  const form = WIRE[id.replace(/^wire-/, '')] ?? message
  if (bodyBytes === 0) return { ...recorded, bytes: form(lines) }
  const body = BODIES.find(({ length }) => length === bodyBytes)
  if (body === undefined) throw new Error(`${id}: the body of ${bodyBytes} bytes is not known`)
  return { ...recorded, bytes: `${form([...lines, `Content-Length: ${bodyBytes}`])}${body}` }
}

/** What was recorded, in the form in which it is compared. */
export function recordedExpectation ({ response: { status, headers, title, message, cause } }: RecordedCase): Expectation {
  const policy = headers['content-security-policy']
  return { ...comparable(headers), status, title, message, cause, policy: policy === undefined ? null : withoutNonces(String(policy)) }
}

/** What is compared of the headers of a response. */
export function comparable (headers: RecordedHeaders): Omit<Expectation, 'status' | 'title' | 'message' | 'cause' | 'policy'> {
  const text = (name: string): string | undefined => headers[name]?.toString()
  const debugException = text('x-debug-exception')
  return {
    mediaType: text('content-type')?.split(';')[0]?.trim().toLowerCase() ?? null,
    link: text('x-debug-token-link')?.replace(TOKEN, '') ?? null,
    debugException: debugException === undefined ? null : decoded(debugException),
    session: [headers['set-cookie'] ?? []].flat().some((cookie) => cookie.startsWith('PHPSESSID=')),
    headers: Object.fromEntries([
      ...LITERAL.flatMap((name) => headers[name] === undefined ? [] : [[name, text(name)]]),
      ...LISTS.flatMap((name) => headers[name] === undefined ? [] : [[name, sorted(text(name) as string)]])
    ])
  }
}

/** A policy's directives, without those that the debug toolbars extend by nonces. */
export function withoutNonces (policy: string): string {
  return policy.split(';').map((directive) => directive.trim()).filter((directive) => !/^(?:(?:script|style)-src\b|$)/.test(directive)).join('; ')
}

// Neither the order nor the case of names in a list means anything.
function sorted (list: string): string {
  return list.split(',').map((name) => name.trim().toLowerCase()).sort().join(', ')
}

function decoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
