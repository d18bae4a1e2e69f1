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

/** An error as plain data. */
export interface FlattenedException {
  name: string
  message: string
  code?: string
  statusCode?: number
  /** Its other own properties, as plain data, such as `detail` and `hint` of PostgreSQL. */
  fields?: Record<string, unknown>
  frames: StackFrame[]
  /** The stack as plain text. */
  stack: string
  /** What a schema or the JSON parser rejected. */
  rejected?: RejectedInput
  /** What the response schema refused, in words. */
  explanation?: string
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
  expected: string
}

/** The part of a request that was rejected before the handler ran. */
export interface RejectedInput {
  part: string
  /** At most twenty. */
  fields?: RejectedField[]
  /** The first place at which a body is not JSON. */
  malformed?: MalformedPlace
}

/** A place in a text; both numbers are 1-based. */
export interface MalformedPlace {
  line: number
  column: number
  /** The lines around it, masked and truncated; `column` is that within them. */
  excerpt?: CodeExcerpt & { column: number }
}
