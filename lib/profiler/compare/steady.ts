// Each begins at a literal, a digit or a word's edge, so that hostile text costs linear time.
const PASSING: ReadonlyArray<readonly [expression: RegExp, stand: string]> = [
  [/'nonce-[^'\s]{1,200}'/g, "'nonce-…'"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '(uuid)'],
  [/\breq-[0-9a-z]{1,12}\b/g, '(request)'],
  [/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:Z|[+-]\d{2}:?\d{2})?/g, '(time)'],
  [/\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT\b/g, '(time)'],
  [/\b\d{1,12}(?:\.\d{1,12})? ?(?:ms|µs)\b/g, '(duration)']
]

const HEADERS = /^(?:date|age|x-debug-token|x-debug-token-link|x-request-id|request-id|x-correlation-id|traceparent|tracestate|server-timing)$/i
const FIELDS = /^(?:time|timestamp|start|started|end|ended|duration|responseTime|reqId|requestId|traceId|spanId|parentId|pid|port|remotePort|nonces?)$/

/** A text without what is another one each time: the profile's own token, ids, nonces, times and durations. */
export function steady (text: string, token: string): string {
  let shown = text.includes(token) ? text.replaceAll(token, '(token)') : text
  for (const [expression, stand] of PASSING) shown = shown.replace(expression, stand)
  return shown
}

/** Whether a header has another value each time. */
export function isPassingHeader (name: string): boolean {
  return HEADERS.test(name)
}

/** Whether a field of a collector's data has another value each time, by the last name on the way to it. */
export function isPassingField (path: string): boolean {
  return FIELDS.test(path.slice(path.lastIndexOf('.') + 1).replace(/\[\d+\]$/, ''))
}
