import type { Profile } from '../lib/profiler/profile.js'
import type { ProfileStorage } from '../lib/profiler/storage/storage.js'
import { TOKEN_PATTERN } from '../lib/profiler/token.js'
import { CommandError } from './command.js'

/** The profile of a token that was typed. */
export async function profileOf (store: ProfileStorage, token: string): Promise<Profile> {
  checkToken(token)
  const profile = await store.get(token)
  if (profile === undefined) throw new CommandError(`Token "${token}" was not found.`)
  return profile
}

/** Raises where what was typed cannot be a token. */
export function checkToken (token: string): void {
  if (!TOKEN_PATTERN.test(token)) throw new CommandError(`"${token}" is not a token of six hexadecimal digits.`, 2)
}
