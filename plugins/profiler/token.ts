import { randomBytes } from 'node:crypto'

/** What a profile's token looks like: six lower-case hexadecimal digits. */
export const TOKEN_PATTERN = /^[0-9a-f]{6}$/

const MAX_DRAWS = 64

/**
 * Draws a token that nobody has: `exists` may answer at once or by a promise, and so does the result.
 * A store that calls everything taken is believed 64 times; then the last draw is as good as any.
 */
export function drawToken (exists: (token: string) => boolean | Promise<boolean>): string | Promise<string> {
  for (let draws = 1; ; draws++) {
    const token = randomBytes(3).toString('hex')
    const taken = exists(token)
    if (typeof taken !== 'boolean') return drawOn(token, taken, exists, draws)
    if (!taken || draws >= MAX_DRAWS) return token
  }
}

async function drawOn (
  token: string, taken: Promise<boolean>, exists: (token: string) => boolean | Promise<boolean>, draws: number
): Promise<string> {
  while (await taken && draws++ < MAX_DRAWS) {
    token = randomBytes(3).toString('hex')
    taken = Promise.resolve(exists(token))
  }
  return token
}
