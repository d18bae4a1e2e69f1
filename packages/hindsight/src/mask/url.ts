import { percentDecoded } from '../http/requests.js'
import { isAuthorizationCode, MASKED } from './names.js'
import { maskShapes } from './shapes.js'

interface UrlMask {
  hides: (name: string) => boolean
  /** Masks the value of a parameter, which may be a text of any kind. */
  text: (text: string) => string
}

/** A parameter of a path segment, or a pair that is one: `;jsessionid=…`, `/token=…`. */
const MATRIX = /(?<=[;/])([^=;/]{1,128})=[^;/]*/g
/** Parameters that are sent together with an authorization code (RFC 6749, section 4.1). */
const OAUTH = /(?:^|&)(?:state|grant_type|redirect_uri|client_id|session_state|iss)=/

/** Masks values of query and fragment by their names, and the password of the user information. */
export function maskUrl (mask: UrlMask, url: string): string {
  const [, path = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#[^]*)?$/.exec(url) ?? []
  const shown = maskShapes(path)
    .replace(MATRIX, (all, name: string) => mask.hides(name) ? `${name}=${MASKED}` : all)
  return shown + query.slice(0, 1) + maskParameters(mask, query.slice(1)) +
    fragment.slice(0, 1) + maskParameters(mask, fragment.slice(1))
}

function maskParameters (mask: UrlMask, text: string): string {
  const isOAuth = OAUTH.test(text)
  return text.split('&').map((pair) => {
    const equals = pair.indexOf('=')
    if (equals < 0) return maskShapes(pair)
    const name = maskShapes(pair.slice(0, equals))
    const value = formDecoded(pair.slice(equals + 1))
    const isEncodedTwice = /%[0-9a-f]{2}/i.test(value)
    const isCode = name === 'code' && ((isOAuth && value.length >= 8) || isAuthorizationCode(name, value))
    if (isEncodedTwice || isCode || mask.hides(formDecoded(name))) return `${name}=${MASKED}`
    const shown = mask.text(value)
    if (shown === value) return name + pair.slice(equals)
    return `${name}=${encodeURIComponent(shown)}`
  }).join('&')
}

/** A text without the percent-encoding of a form, or as it is. */
export function formDecoded (text: string): string {
  return percentDecoded(text.replaceAll('+', ' ')) ?? text
}
