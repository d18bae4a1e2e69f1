import { formatCount, formatInteger } from '../view/text.js'

/** Lines of source; `start` is the 1-based number of the first. */
export interface CodeExcerpt {
  start: number
  lines: readonly string[]
}

/** One call of a stack, in source coordinates (source maps applied). */
export interface StackFrame {
  /** Absolute path, `node:…` for a module of the runtime, or empty where it is unknown. */
  file: string
  /** 1-based; 0 where unknown. */
  line: number
  /** 1-based; 0 where unknown. */
  column: number
  function: string
  /** Whether the file belongs to the application: not to a dependency, Hindsight or Node.js. */
  own: boolean
  excerpt?: CodeExcerpt
}

/** The name of the function of a frame; empty for a function without one. */
export function functionOf (frame: StackFrame): string {
  return frame.function.replace(/^(?:async )?<anonymous>$/, '')
}

/** A variable, or a property that its line reads, such as `request.params.id`: plain data, which masks make text. */
export interface NamedValue {
  name: string
  value: unknown
  /** Before it is masked: the texts beside a property, such as the name of a field whose value it is. */
  beside?: Readonly<Record<string, string>>
}

/** The variables of a call when an error was thrown. Those that its line names come first. */
export interface CallValues {
  file: string
  /** 1-based. */
  line: number
  column: number
  function: string
  variables: NamedValue[]
}

/** An error as plain data. */
export interface FlattenedException {
  name: string
  message: string
  code?: string
  statusCode?: number
  /** Its other own properties, as plain data, such as `detail` and `hint` of PostgreSQL. */
  fields?: Record<string, unknown>
  frames: StackFrame[]
  /** The variables of at most three calls of the application, the innermost first. */
  values?: CallValues[]
  /** The stack as plain text. */
  stack: string
  /** What a schema or the JSON parser rejected. */
  rejected?: RejectedInput
  /** What the response schema refused, in words. */
  explanation?: string
  /** Where the response is not about it, but the application has logged it: the beginning of a sentence about that. */
  logged?: string
  /** A sentence about omitted frames, causes or members. */
  note?: string
  /** The members of an AggregateError, each with its own chain (root cause first). */
  errors?: FlattenedException[][]
}

/** A value that a schema rejected. */
export interface RejectedField {
  field: string
  /** The value as JSON, masked; absent where the field is missing. */
  received?: string
  /** The keyword of the schema, such as `minimum`. */
  rule: string
  /** The message of the validator; with the values that `enum` or `const` allows. */
  message: string
}

/** The part of a request that was rejected before the handler ran. */
export interface RejectedInput {
  part: string
  /** At most twenty. */
  fields?: RejectedField[]
  /** Why a body is not JSON, in the words of the parser. */
  malformed?: string
}

/** The first frame of the application in a chain of exceptions, or else in the members of an AggregateError. */
export function firstAppFrame (chain: readonly FlattenedException[]): StackFrame | undefined {
  return chain.flatMap(({ frames = [] }) => frames).find(({ own }) => own) ??
    chain.flatMap(({ errors = [] }) => errors).map(firstAppFrame).find((frame) => frame !== undefined)
}

/** Of the members of an AggregateError in its root cause, and of their kinds. */
const MAX_MESSAGES = 3
const MAX_KINDS = 4

/** The deepest cause of a chain of errors. */
export interface RootCause {
  name: string
  /** In words, with more than the message where that is certain: what was rejected, or who may not do what. */
  message: string
  code?: string
  fields?: Record<string, unknown>
  /** The first frame of the application: of the root cause itself, otherwise of the nearest error that it caused. */
  frame?: StackFrame
  /** What the members of an AggregateError have in common, or the number of each kind. */
  members?: string
}

/**
 * The root cause of a chain, which begins with it; null for an empty chain. Where it is an AggregateError whose members
 * have root causes of one kind, the result is that cause; for several kinds the members are counted by kind.
 */
export function rootCause (chain: readonly FlattenedException[]): RootCause | null {
  const [root] = chain
  if (root === undefined) return null
  const { name, code, fields: { denied, ...fields } = {}, errors = [] } = root
  const { rejected, explanation = rejected && rejectionText(rejected) } = chain.at(-1) ?? root
  let message = String(explanation ?? root.message)
  if (explanation === undefined && typeof denied === 'string') message = denied
  if (message.trim() === '') message = code ?? name
  const frame = firstAppFrame(chain)
  const near = { ...frame !== undefined && { frame } }
  const facts = { ...code !== undefined && { code }, ...root.fields !== undefined && { fields } }
  const cause = { name, message, ...facts, ...near }
  const roots = errors.map((member) => rootCause(member)).filter((member) => member !== null)
  const kinds = new Map<string, number>()
  for (const one of roots) {
    const kind = `${one.name}: ${one.code ?? one.message}`
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  }
  const [common] = roots
  if (common === undefined) return cause
  if (kinds.size > 1) {
    const counts = [...kinds].map(([kind, count]) => count === 1 ? kind : `${formatInteger(count)} × ${kind}`)
    return { ...cause, members: listed(counts, MAX_KINDS, ', ', 'more kind') }
  }
  const messages = listed([...new Set(roots.map((one) => one.message))], MAX_MESSAGES, '; ', 'more message')
  const members = `the common cause of ${formatCount(errors.length, 'error')}`
  return { ...near, ...common, message: messages, ...errors.length > 1 && { members } }
}

/** The root cause of a failure, which names it everywhere; of 404 and 405 the HTTP error. */
export function mainCause (
  { status, exceptions }: { status: number, exceptions: readonly FlattenedException[] }
): RootCause | null {
  if (status === 404 || status === 405) return rootCause(exceptions.slice(-1))
  return rootCause(exceptions)
}

/** What a schema or the JSON parser rejected, in one line; undefined where that is unknown. */
export function rejectionText ({ part, fields = [], malformed }: RejectedInput): string | undefined {
  if (malformed !== undefined) return `Invalid JSON in the ${part}: ${malformed}`
  const texts = fields.map(({ field, rule, received, message }) => {
    const place = field === '(all of it)' ? part : `${part}/${field.replaceAll('.', '/')}`
    if (rule === 'required') return `${place}: missing`
    if (received === undefined) return `${place}: ${message}`
    return `${place}: ${message}, got ${received}`
  })
  if (texts.length === 0) return undefined
  return listed(texts, MAX_MESSAGES, '; ', 'more message')
}

function listed (texts: readonly string[], max: number, separator: string, further: string): string {
  const shown = texts.slice(0, max).join(separator)
  if (texts.length > max) return `${shown}${separator}and ${formatCount(texts.length - max, further)}`
  return shown
}
