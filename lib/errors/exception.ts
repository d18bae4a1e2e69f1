declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** The flattened chain of `raised`, root cause first. */
    exceptions?: FlattenedException[]
  }
}

/** The lines of source around a frame; `start` is the number of the first of them. */
export interface CodeExcerpt {
  start: number
  lines: string[]
}

/** One call of a stack, in the coordinates of the source that was written (source maps applied). */
export interface StackFrame {
  /** Absolute path, `node:…` for the runtime's own modules, or empty where the runtime names none. */
  file: string
  /** 1-based; 0 where unknown. */
  line: number
  /** 1-based; 0 where unknown. */
  column: number
  function: string
  /** Whether the file belongs to the application rather than to a dependency or to Node.js. */
  own: boolean
  excerpt?: CodeExcerpt
}

/** An error as plain data: what a page, a profile or another program can read. */
export interface FlattenedException {
  name: string
  message: string
  code?: string
  statusCode?: number
  frames: StackFrame[]
  /** The stack as plain text, ready to copy. */
  stack: string
  /** How many frames were left out behind the last one. */
  framesDropped?: number
  /** What else there is to know: causes or members that were left out, a cause that closes a circle. */
  note?: string
  /** The members of an AggregateError, each with its own chain (root cause first). */
  errors?: FlattenedException[][]
}
