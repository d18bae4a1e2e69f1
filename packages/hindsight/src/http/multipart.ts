import type { FastifyRequest } from 'fastify'

/** A part of a multipart body (RFC 7578): a field, or a file. */
export interface UploadedPart {
  name: string
  filename: string | undefined
  type: string | undefined
  /** Bytes that were read. */
  size: number
  /** The beginning of a field. */
  start: Buffer
}

const BOUNDARY = /^multipart\/.*;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i
const MAX_PARTS = 100
/** Bytes. */
const MAX_HEAD = 8_000
const MAX_FIELD = 2_000

/**
 * Returns the parts of a multipart body, to which each is added while the application reads the body; null for another
 * body. Nothing is read that the application does not read, and files are only counted.
 */
export function watchParts ({ raw, headers }: FastifyRequest): readonly UploadedPart[] | null {
  const [, quoted, plain] = BOUNDARY.exec(headers['content-type'] ?? '') ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) return null
  const reader = new PartReader(boundary)
  // A `data` listener starts the stream: this one is added when the application adds its first one.
  raw.on('newListener', function onListener (event: string) {
    if (event !== 'data') return
    raw.off('newListener', onListener)
    raw.on('data', (chunk: Buffer | string) => reader.add(Buffer.from(chunk as Buffer)))
  })
  return reader.parts
}

class PartReader {
  readonly parts: UploadedPart[] = []
  readonly #delimiter: Buffer
  /** What may be the beginning of a delimiter or a head. The first delimiter has no line before it. */
  #rest: Buffer = Buffer.from('\r\n')
  #part: UploadedPart | undefined
  #isHead = false
  #isOver = false

  constructor (boundary: string) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`)
  }

  add (chunk: Buffer): void {
    if (this.#isOver) return
    let data = Buffer.concat([this.#rest, chunk])
    for (;;) {
      // After the last delimiter, `--boundary--`, is no part.
      if (this.#isHead && data.toString('latin1', 0, 2) === '--') {
        this.#isOver = true
        return
      }
      const mark = this.#isHead ? '\r\n\r\n' : this.#delimiter
      const end = data.indexOf(mark)
      if (end === -1) break
      const before = data.subarray(0, end)
      if (this.#isHead) this.#begin(before.toString())
      else this.#count(before)
      data = data.subarray(end + mark.length)
      this.#isHead = !this.#isHead
    }
    if (!this.#isHead) {
      const length = Math.max(0, data.length - this.#delimiter.length)
      this.#count(data.subarray(0, length))
      data = data.subarray(length)
    }
    this.#isOver = data.length > MAX_HEAD || this.parts.length > MAX_PARTS
    this.#rest = data
  }

  #begin (head: string): void {
    const field = (pattern: RegExp): string | undefined => pattern.exec(head)?.[1]
    this.#part = {
      name: field(/^content-disposition:.*[;\s]name="([^"]*)"/im) ?? '',
      filename: field(/^content-disposition:.*[;\s]filename="([^"]*)"/im),
      type: field(/^content-type:\s*(.*?)\s*$/im),
      size: 0,
      start: Buffer.alloc(0)
    }
    this.parts.push(this.#part)
  }

  #count (content: Buffer): void {
    if (this.#part === undefined) return
    const { filename, size, start } = this.#part
    const space = filename === undefined ? Math.max(0, MAX_FIELD - size) : 0
    if (space > 0) this.#part.start = Buffer.concat([start, content.subarray(0, space)])
    this.#part.size += content.length
  }
}
