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
  /** A sentence about omitted frames, causes or members. */
  note?: string
  /** The members of an AggregateError, each with its own chain (root cause first). */
  errors?: FlattenedException[][]
}
