// Each expression begins at a literal, a digit or the edge of a word, so that hostile text costs linear time.
const VOLATILE: ReadonlyArray<readonly [expression: RegExp, replacement: string]> = [
  [/'nonce-[^'\s]{1,200}'/g, "'nonce-…'"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '(uuid)'],
  [/\bboundary=[^;,\s]{1,200}/g, 'boundary=…'],
  [/\breq-[0-9a-z]{1,12}\b/g, '(request)'],
  [/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?/g, '(time)'],
  [/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT\b/g, '(time)'],
  [/\b\d{1,12}(?:\.\d{1,12})? ?(?:ms|µs)\b/g, '(duration)']
]

const HEADERS = new Set([
  'date', 'age', 'x-debug-token', 'x-debug-token-link', 'x-request-id', 'request-id', 'x-correlation-id', 'traceparent',
  'tracestate', 'server-timing'
])
const FIELDS = new Set([
  'time', 'timestamp', 'start', 'started', 'end', 'ended', 'duration', 'responseTime', 'reqId', 'requestId', 'traceId',
  'spanId', 'parentId', 'pid', 'port', 'remotePort', 'nonce', 'nonces',
  // Of a JSON Web Token (RFC 7519).
  'iat', 'exp', 'nbf', 'jti'
])

/** A text with replacements for what is different in each request: the token, ids, nonces, times and durations. */
export function normalizeVolatile (text: string, token: string): string {
  let normalized = text.replaceAll(token, '(token)')
  for (const [expression, replacement] of VOLATILE) normalized = normalized.replace(expression, replacement)
  return normalized
}

/** Whether a header has a different value in each response. */
export function isVolatileHeader (name: string): boolean {
  return HEADERS.has(name.toLowerCase())
}

/** Whether a field has a different value in each profile, by the last name of its path. */
export function isVolatileField (path: string): boolean {
  return FIELDS.has(path.slice(path.lastIndexOf('.') + 1).replace(/\[\d+\]$/, ''))
}
