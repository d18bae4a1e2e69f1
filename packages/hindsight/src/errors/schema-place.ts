import jsTokens from 'js-tokens'
import type { RejectedInput, StackFrame } from './exception.js'
import { excerptAt } from './source-file.js'

const MAX_LINES = 5_000
const [OPEN, CLOSE, SPACE] = [/^[([{]$/, /^[)\]}]$/, /Comment$|^WhiteSpace$|^LineTerminatorSequence$/]

/** `depth`: of the brackets around a token. */
type Tokens = ReadonlyArray<{ value: string, line: number, depth: number }>

/** The line of the first rejected field in the schema of the route, or else of what is around it; null without one. */
export function schemaFrame (route: StackFrame | null, input: RejectedInput | null): StackFrame | null {
  const { part = '', fields: [field] = [] } = input ?? {}
  if (route === null || field === undefined) return null
  const all = tokensOf(excerptAt(route.file, 1, 0, MAX_LINES)?.lines.join('\n') ?? '')
  const call = all.slice(all.findIndex(({ line, value }) => line >= route.line && value === '(') - 1)
  const parts = part === 'query' ? ['query', 'querystring'] : [part]
  let found = keyIn(all, keyIn(all, call, ['schema']), parts)
  let line = found[0]?.line ?? 0
  for (const name of field.field.split('.').filter((key) => !/^\d+$/.test(key))) {
    const properties = keyIn(all, found, ['properties'])
    found = keyIn(all, properties.length > 0 ? properties : found, [name])
    line = found[0]?.line ?? line
  }
  const excerpt = excerptAt(route.file, line, 2, 4)
  if (excerpt === undefined) return null
  return { ...route, line, column: 0, function: `schema of ${part}.${field.field}`, excerpt }
}

function tokensOf (source: string): Tokens {
  let [line, depth] = [1, 0]
  return [...jsTokens(source)].map(({ type, value }) => {
    if (CLOSE.test(value)) depth--
    const token = { type, value: value.replace(/^(["'])(\w+)\1$/, '$2'), line, depth }
    if (OPEN.test(value)) depth++
    line += value.split('\n').length - 1
    return token
  }).filter(({ type }) => !SPACE.test(type))
}

/**
 * The tokens from a key on: of the only one in the fewest brackets, within the first brackets of what is given. Where
 * its value is a name, from the only declaration of that in the file on. Empty where none is certain.
 */
function keyIn (all: Tokens, [first, ...given]: Tokens, names: readonly string[]): Tokens {
  const start = given.findIndex(({ value }) => OPEN.test(value) || CLOSE.test(value) || value === ',')
  if (!OPEN.test(given[start]?.value ?? '')) return []
  const end = given.findIndex(({ depth }, i) => i > start && depth <= (given[start]?.depth ?? 0))
  const [key, other] = given.slice(0, end).map((token, at) => ({ ...token, at, ends: given[at + 1]?.value ?? '' }))
    .filter(({ value, ends, at }) => at > start && names.includes(value) && /^[:,}]$/.test(ends) &&
      /^[{,]$/.test(given[at - 1]?.value ?? '')).sort((a, b) => a.depth - b.depth)
  if (first === undefined || key === undefined || other?.depth === key.depth) return []
  const from = given.slice(key.at)
  const [name, after] = key.ends === ':' ? from.slice(2) : from
  const declared = all.filter(({ value }, i) =>
    value === name?.value && /^(?:const|let|var)$/.test(all[i - 1]?.value ?? ''))
  if (!/^[,}]$/.test(after?.value ?? '') || declared.length !== 1) return from
  return all.slice(all.findIndex((token) => token === declared[0]))
}
