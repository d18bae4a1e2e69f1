import { MASKED, type Mask } from '../mask/mask.js'
import { cutText } from '../view/text.js'
import { CLASS, WORD } from './copy-value.js'
import type { CallValues, NamedValue } from './exception.js'

/** Characters of the name of a property, of a text in a value, and of a value. */
const MAX_NAME = 100
const MAX_TEXT = 200
const MAX_VALUE = 1_000
const NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u

/** The calls with variables of an error that was thrown, or of another object. */
const keptCalls = new WeakMap<object, CallValues[]>()
/** Those of the last value that is no object, by the request that has thrown it. */
const keptPrimitives = new WeakMap<object, { thrown: unknown, calls: CallValues[] }>()

/** Keeps the variables of calls when a value was thrown, in the order of the stack; `holder` is its request. */
export function keepCalls (thrown: unknown, holder: object, calls: CallValues[]): void {
  if (Object(thrown) === thrown) keptCalls.set(thrown as object, calls)
  else keptPrimitives.set(holder, { thrown, calls })
}

/** The calls that are kept for a thrown value, not masked; undefined: none. */
export function callsOf (thrown: unknown, holder?: object): CallValues[] | undefined {
  if (Object(thrown) === thrown) return keptCalls.get(thrown as object)
  const kept = holder && keptPrimitives.get(holder)
  return kept !== undefined && Object.is(kept.thrown, thrown) ? kept.calls : undefined
}

/** The variables of a call as texts, masked by their names and the shapes of their values. */
export function maskCall (call: CallValues, mask: Mask): CallValues {
  return {
    ...call,
    function: mask.text(call.function),
    variables: call.variables.map(({ name, value, beside }) =>
      ({ name, value: cutText(textOf(maskMember(name.split('.'), value, mask, beside)), MAX_VALUE) }))
  }
}

/** The value of a variable or a property, masked also by the names of what it is in, and by what is beside it. */
function maskMember (
  path: readonly string[], value: unknown, mask: Mask, beside: NamedValue['beside'] = {}
): unknown {
  const [last = '', ...holders] = path.toReversed()
  const member: object = { ...beside, [last]: value }
  let masked = mask.value(holders.reduce((inner, name) => ({ [name]: inner }), member))
  for (const name of path) {
    if (typeof masked !== 'object' || masked === null) return masked
    masked = (masked as Record<string, unknown>)[name]
  }
  return masked
}

/** Masked data as code. */
function textOf (value: unknown): string {
  if (typeof value === 'string') return quotedText(value)
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const { [CLASS]: name, ...fields } = value as Record<string, unknown>
  const items = Object.entries(fields).map(([key, item]) => {
    if (typeof item === 'string' && item.startsWith(`${WORD}…`)) return item.slice(1)
    const name = cutText(key, MAX_NAME)
    return `${NAME.test(name) ? name : JSON.stringify(name)}: ${textOf(item)}`
  })
  const content = items.length === 0 ? '{}' : `{ ${items.join(', ')} }`
  return typeof name === 'string' && name.startsWith(WORD) ? `${name.slice(1)} ${content}` : content
}

function quotedText (text: string): string {
  if (text === MASKED) return text
  if (text.startsWith(WORD)) return cutText(text.slice(1), MAX_TEXT)
  return JSON.stringify(cutText(text, MAX_TEXT))
}
