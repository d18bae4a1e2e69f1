import { isAbsolute, relative, sep } from 'node:path'
import type { Runtime } from 'node:inspector'
import { isInternal, originalPlace, toPath } from '../../errors/stack-frame.js'
import { cut } from '../../view/visible.js'
import type { CodeKind, CpuFunction } from './cpu-record.js'

const MAX_NAME = 200
const MAX_FILE = 500
const NO_SCRIPT = '0'

/** Tells where a function stands in the source that people wrote, and whose it is; `mask` is for what its name may hold. */
export function functionOf ({ functionName, scriptId, url, lineNumber, columnNumber }: Runtime.CallFrame, mask: (text: string) => string, root = process.cwd()): CpuFunction {
  const { file, line, column } = placeOf(url, lineNumber, columnNumber)
  const path = pathOf(file, root)
  return {
    name: cut(mask(functionName === '' ? '(anonymous)' : functionName), MAX_NAME),
    file: cut(mask(path), MAX_FILE),
    line,
    column,
    kind: url === '' && scriptId === NO_SCRIPT ? 'engine' : kindOf(file, path, url)
  }
}

function placeOf (url: string, lineNumber: number, columnNumber: number): Pick<CpuFunction, 'file' | 'line' | 'column'> {
  // What belongs to the top of a module has no line.
  const plain = { file: toPath(url), line: Math.max(0, lineNumber + 1), column: Math.max(0, columnNumber + 1) }
  if (!isAbsolute(plain.file) || lineNumber < 0) return plain
  // The profiler tells of what was compiled, whatever stacks say.
  const original = originalPlace(url, lineNumber, columnNumber)
  return original === null ? plain : { file: original.file, line: original.line, column: original.column }
}

function pathOf (file: string, root: string): string {
  if (!isAbsolute(file)) return file
  const path = relative(root, file)
  return path.startsWith('..') || isAbsolute(path) ? file : path
}

function kindOf (file: string, path: string, url: string): CodeKind {
  if (url.startsWith('node:')) return 'node'
  // What was made at run time, such as the serializers and validators of a framework, has no file.
  if (!isAbsolute(file)) return 'dependency'
  if (isInternal(file)) return 'hindsight'
  return isAbsolute(path) || path.split(sep).includes('node_modules') ? 'dependency' : 'own'
}
