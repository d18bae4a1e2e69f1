import { percentEncoded } from './header-text.js'

/** Text in a language (RFC 8187): `{ value: 'letztes Kapitel', language: 'de' }`. */
export interface LanguageText {
  value: string
  language: string
}

type AttributeValue = string | number | boolean | LanguageText | null | undefined

/** The target attributes of a link (RFC 8288, section 3.4): true stands for the bare name, false and null leave it out, a list repeats it. */
export type LinkAttributes = Record<string, AttributeValue | readonly string[]>

/** A link from the response's resource to another one (RFC 8288). */
export interface Link {
  /** One or more relation types, separated by spaces: registered names, or URIs. */
  rel: string
  /** A URI reference; what no URI can have is percent-encoded. */
  href: string
  attributes?: LinkAttributes
}

const RELATION_TYPE = /^(?:[a-z][a-z0-9.-]*|[a-z][a-z0-9+.-]*:[\w!#$%&'()*+,./:;=?@[\]~-]+)$/i
const TOKEN = /^[!#$&'*+.^_`|~\w-]+$/
// What RFC 3986 gives no place in a reference, a percent sign that encodes nothing among it.
const NOT_IN_URI = /%(?![0-9a-f]{2})|[^\w!#$%&'()*+,./:;=?@[\]~-]/giu

/** One `link-value` of a `Link` header (RFC 8288, section 3); no value that it is given can end it early. */
export function serializeLink ({ rel, href, attributes = {} }: Link): string {
  const types = String(rel).split(' ')
  const wrong = types.find((type) => !RELATION_TYPE.test(type))
  if (wrong !== undefined) throw new Error(`Link: "${wrong}" is not a relation type (RFC 8288, section 3.3)`)
  return `<${uriReference(String(href))}>; rel="${types.join(' ')}"${Object.entries(attributes).map(([name, value]) => attribute(name, value)).join('')}`
}

/** Text as a URI reference: percent-encoded where it is none. */
export function uriReference (text: string): string {
  return text.toWellFormed().replace(NOT_IN_URI, percentEncoded)
}

function attribute (name: string, value: LinkAttributes[string]): string {
  if (!TOKEN.test(name) || name.toLowerCase() === 'rel') throw new Error(`Link: "${name}" is not the name of a target attribute (RFC 8288, section 3.4)`)
  if (Array.isArray(value)) return value.map((one: string) => attribute(name, one)).join('')
  if (value === undefined || value === null || value === false) return ''
  if (value === true) return `; ${name}`
  if (typeof value === 'object') {
    const { value: text, language } = value as LanguageText
    return `; ${name}*=UTF-8'${percentEncoded(language)}'${percentEncoded(text)}`
  }
  const text = name.toLowerCase() === 'anchor' ? uriReference(String(value)) : String(value)
  if (/^[\x20-\x7e]*$/.test(text)) return `; ${name}="${text.replace(/["\\]/g, '\\$&')}"`
  return `; ${name}*=UTF-8''${percentEncoded(text)}`
}
