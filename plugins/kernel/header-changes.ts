import type { FastifyReply } from 'fastify'
import { valueOf } from './header-trail.js'
import { isSameValue, type Change, type HeaderValue } from './slot-memory.js'

/** The headers of a reply, by their names. */
export type Headers = Partial<Record<string, HeaderValue>>

/** Takes note of a header's value ahead of its first change. */
export function noteTouched (touched: Change[], reply: FastifyReply, name: string): void {
  if (!touched.some((change) => change.name === name)) touched.push({ name, from: valueOf(reply, name), to: undefined })
}

/** What has changed of the headers that were touched: the list is its own answer. */
export function changed (touched: Change[], reply: FastifyReply): Change[] {
  let kept = 0
  for (const change of touched) {
    change.to = valueOf(reply, change.name)
    if (!isSameValue(change.from, change.to)) touched[kept++] = change
  }
  // Most are changed indeed, and V8 takes its time to set a length.
  if (kept !== touched.length) touched.length = kept
  return touched
}

/** All headers of a reply, as they are now. */
export function headersOf (reply: FastifyReply): Headers {
  const headers = reply.getHeaders() as Headers
  const cookies = headers['set-cookie']
  if (Array.isArray(cookies)) headers['set-cookie'] = [...cookies]
  return headers
}

/** What lies between two looks at all headers; null for nothing. */
export function changesBetween (from: Headers, to: Headers): Change[] | null {
  let changes: Change[] | null = null
  for (const name in to) {
    if (!isSameValue(from[name], to[name])) (changes ??= []).push({ name, from: from[name], to: to[name] })
  }
  for (const name in from) {
    if (to[name] === undefined) (changes ??= []).push({ name, from: from[name], to: undefined })
  }
  return changes
}
