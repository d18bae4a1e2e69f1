import { readFileSync, statSync } from 'node:fs'
import { extname, isAbsolute } from 'node:path'
import type { CodeExcerpt } from './exception.js'

const MAX_FILE_BYTES = 2_000_000
const MAX_CACHED_FILES = 50
const MAX_CACHED_BYTES = 8_000_000
const MAX_LINE_LENGTH = 500

// A stack is text, and text can be forged: whatever it names, only source is ever read.
const SOURCE = new Set(['.js', '.mjs', '.cjs', '.jsx', '.ts', '.mts', '.cts', '.tsx', '.vue', '.svelte', '.astro', '.civet', '.coffee'])

interface Cached { modified: number, bytes: number, lines: string[] }

const cache = new Map<string, Cached>()
let cachedBytes = 0

/** The lines around a frame's line, where its file is source that can be read. */
export function codeExcerpt (file: string, line: number, around = 5): CodeExcerpt | undefined {
  if (line < 1 || !isAbsolute(file) || !SOURCE.has(extname(file).toLowerCase())) return undefined
  const lines = sourceLines(file)
  if (!lines || line > lines.length) return undefined
  const start = Math.max(1, line - around)
  return { start, lines: lines.slice(start - 1, line + around).map(cutLine) }
}

function sourceLines (file: string): string[] | undefined {
  try {
    const { mtimeMs, size, ...stat } = describe(file)
    if (!stat.regular || size > MAX_FILE_BYTES) return undefined
    const known = cache.get(file)
    if (known?.modified === mtimeMs && known.bytes === size) return known.lines
    const lines = readFileSync(file, 'utf8').replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
    if (lines.at(-1) === '') lines.pop()
    remember(file, { modified: mtimeMs, bytes: size, lines })
    return lines
  } catch {
    return undefined
  }
}

function describe (file: string): { mtimeMs: number, size: number, regular: boolean } {
  const stat = statSync(file)
  return { mtimeMs: stat.mtimeMs, size: stat.size, regular: stat.isFile() }
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
