import type { FastifyRequest } from 'fastify'
import { percentEncoded } from 'fastify-hindsight/recorder'
import { stateOf } from './state.js'

/** The target attributes of a link (RFC 8288, section 3.4): true writes the bare name, false and null omit it. */
export type LinkAttributes = Record<string, string | number | boolean | null | undefined>

/** A link from the response's resource to another one (RFC 8288). */
export interface Link {
  /** One or more relation types, separated by spaces: registered names, or URIs. */
  rel: string
  /** A URI reference; characters that no URI has are percent-encoded. */
  href: string
  attributes?: LinkAttributes
}

const RELATION_TYPE = /^(?:[a-z][a-z0-9.-]*|[a-z][a-z0-9+.-]*:[\w!#$%&'()*+,./:;=?@[\]~-]+)$/i
const TOKEN = /^[!#$&'*+.^_`|~\w-]+$/
// A percent sign that encodes nothing, and what RFC 3986 allows nowhere in a reference.
const NOT_IN_URI = /%(?![0-9a-f]{2})|[^\w!#$%&'()*+,./:;=?@[\]~-]/giu

/** Adds a link to the response of a request. Throws for an invalid relation type or attribute name. */
export function addLink (request: FastifyRequest, link: Link): void {
  serializeLink(link);
  (stateOf(request).links ??= []).push(link)
}

/** One `link-value` of a `Link` header (RFC 8288, section 3), which no value of the link can end early. */
export function serializeLink ({ rel, href, attributes = {} }: Link): string {
  const types = String(rel).split(' ')
  const wrong = types.find((type) => !RELATION_TYPE.test(type))
  if (wrong !== undefined) throw new Error(`Link: "${wrong}" is not a relation type (RFC 8288, section 3.3)`)
  const parameters = Object.entries(attributes).map(([name, value]) => attribute(name, value))
  return `<${uriReference(String(href))}>; rel="${types.join(' ')}"${parameters.join('')}`
}

/** Text as a URI reference, percent-encoded where necessary. */
export function uriReference (text: string): string {
  return text.toWellFormed().replace(NOT_IN_URI, percentEncoded)
}

function attribute (name: string, value: LinkAttributes[string]): string {
  if (!TOKEN.test(name) || name.toLowerCase() === 'rel') {
    throw new Error(`Link: "${name}" is not the name of a target attribute (RFC 8288, section 3.4)`)
  }
  if (value === undefined || value === null || value === false) return ''
  if (value === true) return `; ${name}`
  const text = name.toLowerCase() === 'anchor' ? uriReference(String(value)) : String(value)
  if (/^[\x20-\x7e]*$/.test(text)) return `; ${name}="${text.replace(/["\\]/g, '\\$&')}"`
  return `; ${name}*=UTF-8''${percentEncoded(text)}`
}
