import { isAuthorizationCode } from './names.js'
import { MASKED, percentDecoded, type MaskParts } from './parts.js'
import { shapes } from './shapes.js'

/** How many parameters may stand in each other's values. */
const MAX_NESTED = 4
// Every expression starts at a literal or behind a look-behind, so that hostile text costs linear time.
const USERINFO = /:\/\/([^\s/?#:@"<>]{0,256}):([^\s/?#"<>]*|(?!\d*[/?#])[^\s@"<>]{0,256})@/g
// A port is a number: what else stands there is a password, of a URL that was cut off behind it.
const CUT_OFF = /:\/\/([^\s/?#:@"<>[\]]{0,256}):(?!\d{0,5}(?:[^\w]|$))[^\s/?#@"<>]+(?=$|[\s"<>])/g
const LONE_USER = /:\/\/([\w.~%+-]{20,256})@/g
// A parameter of a path segment: `;jsessionid=…`.
const MATRIX = /(?<=;)([^=;/]{1,128})=[^;/]*/g
// Parameters that are sent together with an authorization code (RFC 6749, section 4.1).
const OAUTH = /(?:^|&)(?:state|grant_type|redirect_uri|client_id|session_state|iss)=/
// Who gives a token as the user leaves the password empty, or says so.
const NO_PASSWORD = /^(?:|x|x-oauth-basic|x-token-auth|api)$/i

/** Makes what masks URLs: values of query and fragment by their names, and the password of the user information. */
export function urlMask (parts: MaskParts): Pick<MaskParts, 'url' | 'parameters'> {
  function parameters (text: string, nested = 0): string {
    const isOAuth = OAUTH.test(text)
    return text.split('&').map(pair => {
      const equals = pair.indexOf('=')
      if (equals < 0) return pair
      const name = pair.slice(0, equals)
      if (nested > MAX_NESTED || parts.hides(decoded(name))) return `${name}=${MASKED}`
      const inner = decoded(pair.slice(equals + 1))
      if (name === 'code' && !parts.idle && (isOAuth || isAuthorizationCode(name, inner))) return `code=${MASKED}`
      const shown = parts.text(inner, nested + 1)
      return shown === inner ? pair : `${name}=${encodeURIComponent(shown)}`
    }).join('&')
  }

  function url (text: string): string {
    const [, path = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#[^]*)?$/.exec(text) ?? []
    const shownPath = shapes(userInformation(path))
      .replace(MATRIX, (all, name: string) => parts.hides(name) ? `${name}=${MASKED}` : all)
    return parts.redact(shownPath +
      query.slice(0, 1) + parameters(query.slice(1)) +
      fragment.slice(0, 1) + parameters(fragment.slice(1)))
  }

  return { url, parameters }
}

/** Hides the credentials in the user information (RFC 3986, section 3.2.1) of every URL in a text. */
export function userInformation (text: string): string {
  if (!text.includes('://')) return text
  return text
    .replace(USERINFO, (_all, user: string, password: string) => `://${user !== '' && NO_PASSWORD.test(password) ? MASKED : user}:${MASKED}@`)
    .replace(LONE_USER, (all, user: string) => /\d/.test(user) && /[a-z]/i.test(user) ? `://${MASKED}@` : all)
    .replace(CUT_OFF, `://$1:${MASKED}`)
}

function decoded (text: string): string {
  return percentDecoded(text.replaceAll('+', ' ')) ?? text
}
