const LINE_FEED = 10

/** The lines of a stream, one after another; null for one of more bytes than may be, and none behind it. */
export async function * boundedLines (input: AsyncIterable<Buffer | string>, maxBytes: number): AsyncGenerator<string | null> {
  let parts: Buffer[] = []
  let bytes = 0
  for await (const part of input) {
    const chunk = typeof part === 'string' ? Buffer.from(part) : part
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      if (bytes + end - start > maxBytes) return yield null
      yield textOf([...parts, chunk.subarray(start, end)])
      parts = []
      bytes = 0
      start = end + 1
    }
    const rest = chunk.subarray(start)
    if (rest.length === 0) continue
    parts.push(rest)
    bytes += rest.length
    if (bytes > maxBytes) return yield null
  }
  if (parts.length > 0) yield textOf(parts)
}

function textOf (parts: readonly Buffer[]): string {
  return Buffer.concat(parts).toString().replace(/\r$/, '')
}
