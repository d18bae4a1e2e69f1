import { readFileSync, statSync } from 'node:fs'
import { extname, isAbsolute } from 'node:path'
import type { CodeExcerpt } from './exception.js'

const MAX_FILE_BYTES = 2_000_000
const MAX_CACHED_FILES = 50
const MAX_CACHED_BYTES = 8_000_000
const MAX_LINE_LENGTH = 500

// A stack is text, and text can be forged: whatever it names, only source is ever read.
const SOURCE = new Set([
  '.js', '.mjs', '.cjs', '.jsx', '.ts', '.mts', '.cts', '.tsx', '.vue', '.svelte', '.astro', '.civet', '.coffee'
])

interface Cached {
  modified: number
  bytes: number
  lines: string[]
}

const cache = new Map<string, Cached>()
let cachedBytes = 0

/** The lines around a frame's line, where its file is source that can be read. */
export type ExcerptReader = (file: string, line: number, around?: number) => CodeExcerpt | undefined

/** Makes what reads the excerpts of one error: each file is looked at once, and read again only when it has changed. */
export function excerptReader (): ExcerptReader {
  const looked = new Map<string, Cached | undefined>()
  return (file, line, around = 5) => {
    if (line < 1 || !isAbsolute(file) || !SOURCE.has(extname(file).toLowerCase())) return undefined
    if (!looked.has(file)) looked.set(file, source(file))
    const lines = looked.get(file)?.lines ?? []
    const start = Math.max(1, line - around)
    return line > lines.length ? undefined : { start, lines: lines.slice(start - 1, line + around).map(cutLine) }
  }
}

function source (file: string): Cached | undefined {
  try {
    const stat = statSync(file)
    if (!stat.isFile() || stat.size > MAX_FILE_BYTES) return undefined
    const known = cache.get(file)
    if (known?.modified === stat.mtimeMs && known.bytes === stat.size) return known
    const lines = readFileSync(file, 'utf8').replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
    if (lines.at(-1) === '') lines.pop()
    const entry = { modified: stat.mtimeMs, bytes: stat.size, lines }
    remember(file, entry)
    return entry
  } catch {
    return undefined
  }
}

function remember (file: string, entry: Cached): void {
  forget(file)
  cache.set(file, entry)
  cachedBytes += entry.bytes
  for (const oldest of cache.keys()) {
    if (cache.size <= MAX_CACHED_FILES && cachedBytes <= MAX_CACHED_BYTES) break
    forget(oldest)
  }
}

function forget (file: string): void {
  cachedBytes -= cache.get(file)?.bytes ?? 0
  cache.delete(file)
}

function cutLine (line: string): string {
  return line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line
}
