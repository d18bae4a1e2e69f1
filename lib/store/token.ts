import { randomInt } from 'node:crypto'

/** The form of a profile's token: six lower-case hexadecimal digits. */
export const TOKEN_PATTERN = /^[0-9a-f]{6}$/

/** A random token. With 10,000 stored profiles, about one request in 1,700 replaces an older profile. */
export function newToken (): string {
  return randomInt(0x1000000).toString(16).padStart(6, '0')
}
