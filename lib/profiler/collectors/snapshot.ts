import { isStream } from '../../http/responses.js'

const MAX_BYTES = 64 * 1024
const MAX_DEPTH = 16
/** Of what is left out, no more is looked at than this: then the figure is a lower bound. */
const MAX_COUNTED = 20_000

/** A value as it was at one moment. */
export interface Snapshot {
  value: unknown
  /** How many bytes were left out, about; 0 where all of it is here. */
  cut: number
}

/** What keeps a value as it is now. */
export interface SnapshotOptions {
  /** The media type, told where the value is binary. */
  type?: string | undefined
  /** Its size on the wire, where known. */
  bytes?: number | undefined
  /** Stands in for an object of a library whose contents are not shown. */
  replace?: (value: object) => unknown
}

const NOTHING: Snapshot = { value: null, cut: 0 }

interface Walk {
  left: number
  counted: number
  cut: number
  replace: (value: object) => unknown
}

/**
 * Copies a value as far as it fits into 64 kB, so that what is done to it later is not seen. Texts are taken by
 * reference, however long: who writes the profile cuts them.
 */
export function snapshot (root: unknown, { type, bytes, replace = itself }: SnapshotOptions = {}): Snapshot {
  if (root === null) return NOTHING
  const binary = binaryText(root, type)
  if (binary !== null) return { value: binary, cut: 0 }
  const walk: Walk = { left: MAX_BYTES, counted: 0, cut: 0, replace }
  const value = copy(root, walk, 0)
  if (walk.cut > 0 && bytes !== undefined) walk.cut = Math.max(walk.cut, bytes - MAX_BYTES)
  return { value, cut: walk.cut }
}

/** What is shown of content that is no text; null where it is. */
export function binaryText (value: unknown, type?: string): string | null {
  const told = type === undefined || type === '' ? '' : `, ${type.split(';', 1)[0]?.trim()}`
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[binary, ${value.byteLength} bytes${told}]`
  if (typeof Blob === 'function' && value instanceof Blob) return `[binary, ${value.size} bytes${told}]`
  if (isStream(value)) return `[stream ${nameOf(value as object)}]`
  // A parser may have read octets as text.
  if (typeof value === 'string' && value.slice(0, 1_000).includes('\0')) return `[binary, ${Buffer.byteLength(value)} bytes${told}]`
  return null
}

function itself (value: object): object {
  return value
}

function copy (given: unknown, walk: Walk, depth: number): unknown {
  const value = typeof given === 'object' && given !== null ? walk.replace(given) : given
  if (typeof value === 'string') walk.left -= Math.min(value.length, 9_000) + 2
  else walk.left -= 4
  if (typeof value !== 'object' || value === null) return value
  const binary = binaryText(value)
  if (binary !== null) return binary
  if (depth >= MAX_DEPTH) return '[too deep]'
  if (Array.isArray(value)) return copyItems(value, walk, depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  // An object of a class has a form of its own, which is asked for when the profile is written.
  if (prototype !== Object.prototype && prototype !== null) return value
  return copyFields(value as Record<string, unknown>, walk, depth)
}

function copyItems (items: readonly unknown[], walk: Walk, depth: number): unknown[] {
  const kept: unknown[] = []
  for (let i = 0; i < items.length; i++) {
    if (walk.left <= 0) {
      count(items.slice(i, i + MAX_COUNTED), walk, depth)
      kept.push(`… (${(items.length - i).toLocaleString('en')} more items)`)
      break
    }
    kept.push(copy(items[i], walk, depth + 1))
  }
  return kept
}

function copyFields (object: Record<string, unknown>, walk: Walk, depth: number): Record<string, unknown> {
  const names = Object.keys(object)
  const kept: Array<[string, unknown]> = []
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string
    if (walk.left <= 0) {
      count(names.slice(i, i + MAX_COUNTED).map((rest) => object[rest]), walk, depth)
      kept.push(['…', `${(names.length - i).toLocaleString('en')} more fields`])
      break
    }
    walk.left -= name.length + 4
    kept.push([name, copy(object[name], walk, depth + 1)])
  }
  return Object.fromEntries(kept)
}

function count (value: unknown, walk: Walk, depth: number): void {
  if (++walk.counted > MAX_COUNTED || depth > MAX_DEPTH) return
  if (typeof value === 'string') walk.cut += value.length + 3
  else if (Array.isArray(value)) for (const item of value) count(item, walk, depth + 1)
  else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)) {
    for (const name of Object.keys(value)) {
      walk.cut += name.length + 4
      count((value as Record<string, unknown>)[name], walk, depth + 1)
    }
  } else walk.cut += 5
}

function nameOf (value: object): string {
  const { constructor: maker } = value as { constructor?: { name?: unknown } }
  return typeof maker?.name === 'string' && maker.name !== '' ? maker.name : 'Object'
}
