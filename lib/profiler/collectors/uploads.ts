import type { FastifyRequest } from 'fastify'

/** A part of a `multipart/form-data` body as @fastify/multipart hands it out. */
interface Part {
  type?: unknown
  fieldname?: unknown
  filename?: unknown
  mimetype?: unknown
  value?: unknown
  file?: { bytesRead?: unknown, truncated?: unknown }
}

/** A file that came with a request; its contents are never kept. */
export interface UploadedFile {
  name: string
  filename: string | null
  type: string | null
  /** Bytes, as far as they were read. */
  size: number | null
  truncated?: true
}

/** What a request brought in parts, noted as they are handed out. */
export class Uploads {
  readonly #parts = new Set<Part>()

  note (part: unknown): void {
    if (typeof part === 'object' && part !== null && this.#parts.size < 1_000) this.#parts.add(part)
  }

  files (): UploadedFile[] {
    return [...this.#parts].filter(({ file }) => file !== undefined).map(({ fieldname, filename, mimetype, file }) => ({
      name: String(fieldname),
      filename: typeof filename === 'string' ? filename : null,
      type: typeof mimetype === 'string' ? mimetype : null,
      size: typeof file?.bytesRead === 'number' ? file.bytesRead : null,
      ...(file?.truncated === true && { truncated: true as const })
    }))
  }

  fields (): Array<{ name: string, value: unknown }> {
    return [...this.#parts].filter(({ file }) => file === undefined).map(({ fieldname, value }) => ({ name: String(fieldname), value }))
  }

  /** A part that stands in a body: a field's value, and of a file only that it is one. */
  readonly replace = (value: object): unknown => {
    if (!this.#parts.has(value)) return value
    const { file, filename, value: field } = value as Part
    return file === undefined ? field : `[file ${typeof filename === 'string' ? filename : ''}]`
  }
}

type Method = (...args: unknown[]) => unknown

const uploadsOf = new WeakMap<FastifyRequest, Uploads>()

/** Notes what @fastify/multipart, where it is registered, hands out of a request, whichever way it is asked. */
export function watchUploads (request: FastifyRequest): void {
  const parts = request as unknown as Partial<Record<'isMultipart' | 'file' | 'files' | 'parts', Method>>
  if (typeof parts.isMultipart !== 'function' || parts.isMultipart.call(request) !== true) return
  const uploads = new Uploads()
  uploadsOf.set(request, uploads)
  const { file } = parts
  if (typeof file === 'function') {
    define(request, 'file', async (...args) => {
      const part = await file.apply(request, args)
      uploads.note(part)
      return part
    })
  }
  for (const name of ['files', 'parts'] as const) {
    const all = parts[name]
    if (typeof all === 'function') define(request, name, (...args) => noted(all.apply(request, args) as AsyncIterable<unknown>, uploads))
  }
}

/** What was noted of a request; null where it brought no parts. */
export function uploadsIn (request: FastifyRequest): Uploads | null {
  return uploadsOf.get(request) ?? null
}

function define (request: FastifyRequest, name: string, method: Method): void {
  Object.defineProperty(request, name, { value: method, configurable: true, writable: true })
}

async function * noted (parts: AsyncIterable<unknown>, uploads: Uploads): AsyncGenerator<unknown> {
  for await (const part of parts) {
    uploads.note(part)
    yield part
  }
}
