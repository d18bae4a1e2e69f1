import type { Profile } from '../../store/profile.js'
import { listHint, listOf } from '../data.js'
import type { Part } from '../part.js'

/** Why the request was refused, and which parts of the response its browser rejects. */
export const blocked: Part = {
  name: 'blocked',
  notice: (_, profile) => ({
    title: profile.status >= 400 ? 'Why was it refused?' : 'What does the browser block?',
    sentences: sentencesOf(profile)
  }),
  hints: (_, profile) => listHint('Why was this refused?', sentencesOf(profile), 20, ' ')
}

/** One for each reason. */
function sentencesOf ({ collectors }: Profile): string[] {
  return listOf(collectors.blocked).map(({ sentence }) => sentence).filter((sentence) => typeof sentence === 'string')
}
