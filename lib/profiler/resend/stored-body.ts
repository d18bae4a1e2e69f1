import { lossOf } from './cut-marks.js'
import { Gaps, type Text } from './masked.js'

/** A body in the form in which it is written again. */
export type Body =
  /** In it, texts with gaps are `Masked`. */
  | { kind: 'json', value: unknown }
  | { kind: 'form', fields: Array<readonly [name: string, value: Text]> }
  | { kind: 'text', text: Text }

const NOTHING = { body: null, lost: null }

/** Reads the body that a profile has of its request, or why that cannot be sent again. */
export function readBody (data: Readonly<Record<string, unknown>>, gaps: Gaps): { body: Body | null, lost: string | null } {
  const { body = null, bodyCut, bodyNote, files } = data
  const headers = typeof data.headers === 'object' && data.headers !== null ? data.headers as Record<string, unknown> : {}
  const type = String(headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const isJson = /^application\/(?:[\w.+-]+\+)?json$/.test(type)
  if (typeof bodyCut === 'number') return lost(`it was cut: about ${bodyCut.toLocaleString('en')} bytes were left out`)
  if (typeof bodyNote === 'string') return lost(`it was ${bodyNote}`)
  if (Array.isArray(files)) return lost('it had parts, and files are not kept')
  if (body === null) {
    const length = Number(headers['content-length'] ?? 0)
    if (isJson && length === 4) return { body: { kind: 'json', value: null }, lost: null }
    return length > 0 || headers['transfer-encoding'] !== undefined ? lost('it was not read, or not by Fastify, and is not kept') : NOTHING
  }
  const loss = lossOf(body)
  if (loss !== null) return lost(loss)
  if (isJson) return { body: { kind: 'json', value: withGaps(body, 'body', gaps, 0) }, lost: null }
  if (typeof body === 'string') return { body: { kind: 'text', text: gaps.text(body, 'body', 'the body') }, lost: null }
  if (type === 'application/x-www-form-urlencoded' && isFlat(body)) return { body: { kind: 'form', fields: fieldsOf(body, gaps) }, lost: null }
  return lost(`how it was written is not kept, only what ${type === '' ? 'a parser' : `the parser of ${type}`} made of it`)
}

function lost (why: string): { body: null, lost: string } {
  return { body: null, lost: why }
}

function withGaps (value: unknown, path: string, gaps: Gaps, depth: number): unknown {
  if (typeof value === 'string') return gaps.text(value, path, path === 'body' ? 'the body' : `the field ${path.slice(5)} of the body`)
  if (typeof value !== 'object' || value === null || depth > 32) return value
  if (Array.isArray(value)) return value.map((item, i) => withGaps(item, `${path}[${i}]`, gaps, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withGaps(item, `${path}.${name}`, gaps, depth + 1)]))
}

function isFlat (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) &&
    Object.values(value).every((item) => [item].flat().every((one) => typeof one !== 'object' || one === null))
}

// A repeated field is a list.
function fieldsOf (body: Record<string, unknown>, gaps: Gaps): Array<readonly [string, Text]> {
  return Object.entries(body).flatMap(([name, value]) => [value].flat().map((one) =>
    [name, gaps.text(one === null ? '' : String(one), `body.${name}`, `the field ${name} of the body`)] as const))
}
