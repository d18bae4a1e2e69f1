import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

/**
 * Reads the body of a response that should have `length` bytes. Resolves to the bytes or, where the stream fails or has
 * another length, to a stream that continues as the original one does: first with what was read.
 */
export async function readStream (
  stream: Readable, length: number, response: ServerResponse
): Promise<Buffer | Readable> {
  // Fastify destroys the stream of a response that is closed.
  const close = (): void => { stream.destroy() }
  response.once('close', close)
  const iterator = stream[Symbol.asyncIterator]() as AsyncIterableIterator<Buffer | string>
  const chunks: Array<Buffer | string> = []
  let size = 0
  let failure: { error: unknown } | undefined
  try {
    while (size <= length) {
      const { done, value } = await iterator.next()
      if (done === true) break
      chunks.push(value)
      size += Buffer.byteLength(value)
    }
  } catch (error) {
    failure = { error }
  } finally {
    response.off('close', close)
  }
  if (failure === undefined && size === length) return Buffer.concat(chunks.map((chunk) => Buffer.from(chunk)))
  const rest = Readable.from((async function * () {
    yield * chunks
    if (failure !== undefined) throw failure.error
    yield * iterator
  })())
  return rest.once('close', close)
}
