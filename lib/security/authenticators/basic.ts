import { AuthenticationError, INVALID_CREDENTIALS } from '../errors.js'
import type { Credentials } from '../credentials.js'
import { challengeOf, credentialsOf, type Authenticator } from './authenticator.js'

export interface BasicSettings {
  /** What the browser's dialogue is about. Default: `Secured Area`. */
  realm?: string
  /** Asks browsers to send names and passwords as UTF-8, which is how they are read (RFC 7617, section 2.1). */
  charset?: 'UTF-8'
}

/** HTTP basic authentication (RFC 7617). */
export function basicAuthenticator (settings: true | BasicSettings, credentials: Credentials): Authenticator {
  const { realm = 'Secured Area', charset } = settings === true ? {} : settings
  const challenge = challengeOf('Basic', { realm, charset })
  return {
    name: 'basic',
    supports: (request) => credentialsOf(request, 'basic') !== null,
    challenge: () => challenge,
    authenticate (request) {
      const pair = parsePair(credentialsOf(request, 'basic') ?? '')
      if (pair === null) throw new AuthenticationError(INVALID_CREDENTIALS).because('the header holds no name and password')
      return credentials.verify(request, ...pair)
    }
  }
}

// RFC 7617, section 2: the first colon ends the name; neither part holds control characters.
function parsePair (encoded: string): [identifier: string, password: string] | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon === -1 || /\p{Cc}/u.test(text) ? null : [text.slice(0, colon), text.slice(colon + 1)]
}
