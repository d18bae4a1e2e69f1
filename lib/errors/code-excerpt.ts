import { readFileSync, statSync } from 'node:fs'
import { extname, isAbsolute } from 'node:path'
import type { CodeExcerpt } from './exception.js'

const MAX_FILE_BYTES = 2_000_000
const MAX_LINE_LENGTH = 500

// A stack is text and can be forged: nothing but source files is ever read.
const SOURCE = new Set([
  '.js', '.mjs', '.cjs', '.jsx', '.ts', '.mts', '.cts', '.tsx', '.vue', '.svelte', '.astro', '.civet', '.coffee'
])

/** The lines of a file around a 1-based line; undefined where the file is no readable source or has no such line. */
export type ExcerptReader = (file: string, line: number, around?: number) => CodeExcerpt | undefined

/** Makes the reader for the excerpts of one error: it reads each file once. */
export function excerptReader (): ExcerptReader {
  const files = new Map<string, string[]>()
  return (file, line, around = 5) => {
    if (line < 1 || !isAbsolute(file) || !SOURCE.has(extname(file).toLowerCase())) return undefined
    const lines = files.get(file) ?? readLines(file)
    files.set(file, lines)
    const start = Math.max(1, line - around)
    return line > lines.length ? undefined : { start, lines: lines.slice(start - 1, line + around).map(cutLine) }
  }
}

function readLines (file: string): string[] {
  try {
    const stat = statSync(file)
    if (!stat.isFile() || stat.size > MAX_FILE_BYTES) return []
    const lines = readFileSync(file, 'utf8').replace(/^\ufeff/, '').split(/\r\n|\n|\r/)
    if (lines.at(-1) === '') lines.pop()
    return lines
  } catch {
    return []
  }
}

function cutLine (line: string): string {
  return line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line
}
