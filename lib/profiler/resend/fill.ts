import { MASKED } from '../../mask/mask.js'
import { Masked, type Text } from './masked.js'
import type { Body } from './stored-body.js'
import { bodyPieces, headerPieces, joined, targetPieces } from './pieces.js'
import type { StoredRequest } from './stored-request.js'

/** What is sent. */
export interface FilledRequest {
  method: string
  target: string
  /** Names in lower case; one that came more than once has a list. */
  headers: Record<string, string | string[]>
  body: string | null
}

/** Raised for a gap that has to have a value and has none. */
export class MissingValueError extends Error {
  readonly gap: string

  constructor (gap: string, where: string) {
    super(`"${gap}" (${where}) is masked in the profile, and nothing can be sent without it.`)
    this.gap = gap
  }
}

/** Puts values into the gaps of a request, by their names; what has no value is not sent. */
export function filled (request: StoredRequest, values: ReadonlyMap<string, string>): FilledRequest {
  const hasValue = (text: unknown): boolean => !(text instanceof Masked) || (values.get(text.gap.name) ?? '') !== ''
  for (const { name, where, required } of request.gaps) {
    if (required && (values.get(name) ?? '') === '') throw new MissingValueError(name, where)
  }
  const kept: StoredRequest = {
    ...request,
    query: request.query.filter(hasValue),
    headers: request.headers.filter(([, value]) => hasValue(value)),
    cookies: request.cookies.filter(hasValue),
    body: withoutGaps(request.body, hasValue)
  }
  const put = (pieces: Parameters<typeof joined>[0]): string => joined(pieces, ({ name }, as) => {
    const value = values.get(name) ?? ''
    return as === 'json' ? JSON.stringify(value).slice(1, -1) : as === 'percent' ? encodeURIComponent(value.toWellFormed()) : value
  })
  const headers = new Map<string, string[]>()
  if (kept.host !== null) headers.set('host', [kept.host])
  for (const [name, pieces] of headerPieces(kept)) headers.set(name, [...headers.get(name) ?? [], put(pieces)])
  const body = bodyPieces(kept)
  return {
    method: kept.method,
    target: put(targetPieces(kept)),
    headers: Object.fromEntries([...headers].map(([name, all]) => [name, all.length === 1 ? all[0] as string : all])),
    body: body === null ? null : put(body)
  }
}

/** The same for people to look at: what is masked stays so. */
export function shown (request: StoredRequest): FilledRequest {
  return filled(request, new Map(request.gaps.map(({ name }) => [name, MASKED])))
}

function withoutGaps (body: Body | null, hasValue: (text: Text) => boolean): Body | null {
  if (body === null) return null
  if (body.kind === 'text') return hasValue(body.text) ? body : null
  if (body.kind === 'form') return { kind: 'form', fields: body.fields.filter(([, value]) => hasValue(value)) }
  return hasValue(body.value as Text) ? { kind: 'json', value: pruned(body.value, hasValue) } : null
}

function pruned (value: unknown, hasValue: (text: Text) => boolean): unknown {
  if (value instanceof Masked || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.filter((item) => hasValue(item as Text)).map((item) => pruned(item, hasValue))
  return Object.fromEntries(Object.entries(value).filter(([, item]) => hasValue(item as Text)).map(([name, item]) => [name, pruned(item, hasValue)]))
}
