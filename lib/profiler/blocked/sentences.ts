import type { Profile } from '../profile.js'

/** What a stored profile says of why its request was refused, one sentence each; of data that others have stored only what is text. */
export function blockedSentences ({ collectors }: Pick<Profile, 'collectors'>): string[] {
  const { blocked } = collectors
  if (!Array.isArray(blocked)) return []
  return blocked.map((one) => (one as { sentence?: unknown } | null)?.sentence).filter((sentence) => typeof sentence === 'string')
}
