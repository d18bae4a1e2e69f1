import type { Change, Changes, HeaderValue } from './slot-memory.js'

/** Stands for the token of a profile in what many profiles have in common: no header can hold it (RFC 9110, section 5.5), and any store can. */
const MARK = '\u0001token\u0001'

/** The headers that tell a token: of all that a response has, they alone are new each time. */
export const TOKEN_HEADERS = ['x-debug-token', 'x-debug-token-link'] as const

/** A value that ends with a token, with the mark in its place; any other as it is. */
export function marked<T> (value: T, token: string): T | string {
  return typeof value === 'string' && token !== '' && value.endsWith(token) ? value.slice(0, -token.length) + MARK : value
}

/** The same with the token again. */
export function unmarked<T> (value: T, token: string): T | string {
  return typeof value === 'string' && value.endsWith(MARK) ? value.slice(0, -MARK.length) + token : value
}

/** What a listener changed, with the mark where it has told the token. */
export function markedChanges (changes: Changes, token: string): Changes {
  const { headers, status } = changes
  if (headers === null || !tellsToken(changes)) return changes
  return { headers: headers.map((change) => isToken(change) ? { ...change, to: marked(change.to, token) as HeaderValue } : change), status }
}

/** Whether a listener has told the token. */
export function tellsToken ({ headers }: Changes): boolean {
  return headers !== null && headers.some(isToken)
}

/** Whether it is a header that tells a token which has changed. */
export function isToken ({ name }: Pick<Change, 'name'>): boolean {
  return (TOKEN_HEADERS as readonly string[]).includes(name)
}
