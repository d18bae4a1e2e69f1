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
    headers: Partial<Record<string, string>>
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
  /** The application's content security policy, or the one of the diagnostic page's own. */
  policy: 'application' | 'own' | null
  /** Where the profile is, without its token. */
  link: string | null
  /** The decoded `X-Debug-Exception`; octets that are no UTF-8 stay encoded. */
  debugException: string | RegExp | null
  headers: Partial<Record<ComparedHeader, string>>
}

/** Headers that are compared literally. */
export const COMPARED = [
  'allow', 'cache-control', 'location', 'referrer-policy', 'x-content-type-options', 'x-frame-options', 'x-robots-tag', 'x-xss-protection'
] as const
export type ComparedHeader = typeof COMPARED[number]

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
  const debugException = headers['x-debug-exception']
  return {
    status,
    mediaType: mediaTypeOf(headers['content-type']),
    title,
    message,
    cause,
    policy: headers['content-security-policy'] === undefined ? null : 'application',
    link: headers['x-debug-token-link']?.replace(TOKEN, '') ?? null,
    debugException: debugException === undefined ? null : decoded(debugException),
    headers: Object.fromEntries(COMPARED.flatMap((name) => headers[name] === undefined ? [] : [[name, headers[name]]]))
  }
}

/** The media type of a `Content-Type`, without its parameters. */
export function mediaTypeOf (contentType: string | undefined): string | null {
  return contentType?.split(';')[0]?.trim().toLowerCase() ?? null
}

/** Percent-decodes a header's text as far as that can be done. */
export function decoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
