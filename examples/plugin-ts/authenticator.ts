import { createHash, timingSafeEqual } from 'node:crypto'
import type { Authenticator } from 'fastify-hindsight/full'

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

// Of an example; keep digests of your own, outside the code.
const KEYS: ReadonlyArray<readonly [user: string, key: Buffer]> = [['ada', digest('key-of-ada')], ['grace', digest('key-of-grace')]]

/** Recognises clients by the header `X-Api-Key`. */
export const apiKey: Authenticator = {
  name: 'api-key',
  supports: ({ headers }) => headers['x-api-key'] !== undefined,
  authenticate: ({ headers }) => {
    const sent = digest(String(headers['x-api-key']))
    return KEYS.find(([, key]) => timingSafeEqual(key, sent))?.[0] ?? null
  },
  challenge: () => 'ApiKey realm="orders"'
}
