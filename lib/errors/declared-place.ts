import { isInternal, packageOf, splitStack, stackFrames } from './stack-frame.js'

/** Where something was declared. */
export interface DeclaredPlace {
  /** `file:line`, in the source that was written. */
  source: string
  /** The package that the file is of; null for the application's own. */
  package: string | null
}

const BETWEEN: ReadonlySet<string> = new Set(['fastify', 'avvio', 'fastify-plugin'])

/** Reads where something was declared from a stack that was taken there: the first call that is neither ours nor of what stands between. */
export function declaredPlace ({ stack = '', message }: Error): DeclaredPlace | null {
  for (const { file, line } of stackFrames(splitStack(stack, message).frames)) {
    if (file === '' || file.startsWith('node:') || isInternal(file)) continue
    const name = packageOf(file)
    if (name === null || !BETWEEN.has(name)) return { source: `${file}:${line}`, package: name }
  }
  return null
}
