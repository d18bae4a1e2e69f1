import jsTokens from 'js-tokens'
import type { RequestTrace } from '../recording/trace.js'
import { handlerFrame } from './declared-place.js'
import type { RejectedInput, StackFrame } from './exception.js'
import { excerptAt } from './source-file.js'

/** Lines of a file that are looked at. */
const MAX_LINES = 5_000
const DECLARATION = /^(?:const|let|var|class|function|export|import)$/

/** A token of a source; `depth`: of the brackets around it. */
interface PlacedToken { value: string, line: number, depth: number }

/**
 * The line that declares the property of the first rejected field in the schema of the route, or else what is around
 * it; null where the file of the route does not have the schema.
 */
export function schemaFrame (trace: RequestTrace, { part, fields: [field] = [] }: RejectedInput): StackFrame | null {
  const route = handlerFrame(trace)
  if (route === null || field === undefined) return null
  const all = placedTokens(excerptAt(route.file, 1, 0, MAX_LINES)?.lines.join('\n') ?? '')
  const call = all.slice(all.findIndex(({ line }) => line >= route.line))
  const schema = propertyOf(all, untilDepth(call, call.findIndex(({ value }) => value === '(')), 'schema')
  let found = propertyOf(all, schema, part) ?? (part === 'query' ? propertyOf(all, schema, 'querystring') : null)
  if (found === null) return null
  let last = found
  for (const name of field.field.split('.').filter((key) => !/^\d+$/.test(key))) {
    found = propertyOf(all, propertyOf(all, found, 'properties') ?? found, name)
    if (found === null) break
    last = found
  }
  const { line = 0 } = last[0] ?? {}
  const excerpt = excerptAt(route.file, line, 2, 4)
  return { ...route, line, column: 0, function: `schema of ${part}.${field.field}`, ...excerpt && { excerpt } }
}

function placedTokens (source: string): PlacedToken[] {
  const tokens: PlacedToken[] = []
  let [line, depth] = [1, 0]
  for (const { type, value } of jsTokens(source)) {
    if (/^[)\]}]$/.test(value)) depth--
    if (!/Comment$|^WhiteSpace$|^LineTerminatorSequence$/.test(type)) tokens.push({ value, line, depth })
    if (/^[([{]$/.test(value)) depth++
    line += value.split('\n').length - 1
  }
  return tokens
}

/** The tokens from a place on, until the brackets around it are closed or one matches at the same depth. */
function untilDepth (tokens: readonly PlacedToken[], start: number, ends = /^[,)\]}]$/): PlacedToken[] {
  const { depth = 0 } = tokens[start] ?? {}
  const end = tokens.findIndex((one, i) =>
    i > start && (one.depth < depth || (one.depth === depth && ends.test(one.value))))
  return tokens.slice(start, end === -1 ? undefined : end)
}

/**
 * A property and its value: the only one with this name that is in the fewest brackets. Where the value is a name, the
 * only declaration of it in the file. Null where there is none.
 */
function propertyOf (
  all: readonly PlacedToken[], tokens: readonly PlacedToken[] | null, name: string
): PlacedToken[] | null {
  if (tokens === null) return null
  const [key, other] = tokens.filter(({ value }, i) => value.replace(/^(["'])(.*)\1$/, '$2') === name &&
    /^[{,]$/.test(tokens[i - 1]?.value ?? '') && /^[:,}]$/.test(tokens[i + 1]?.value ?? '}'))
    .sort((a, b) => a.depth - b.depth)
  if (key === undefined || other?.depth === key.depth) return null
  const found = untilDepth(tokens, tokens.indexOf(key))
  if (found.length !== 1 && found.length !== 3) return found
  const value = found.at(-1)?.value
  const [declared, ...others] = all.filter((one, i) =>
    one.value === value && /^(?:const|let|var)$/.test(all[i - 1]?.value ?? ''))
  if (declared === undefined || others.length > 0) return found
  return untilDepth(all, all.indexOf(declared), DECLARATION)
}
