import { STATUS_CODES } from 'node:http'
import { bytes, failed, fold, json, note, pairs, pairsSection, section } from '../../view/components.js'
import { html } from '../../view/html.js'
import type { Profile } from '../../profiler/profile.js'
import { createPanel, dataOf, failureOf, isObject, type Data } from '../part.js'

/** Characters of the markup of a body that is not folded. */
const MAX_OPEN = 8_000

/** The request and the response. */
export const requestPanel = createPanel('request', 'Request / Response', 'overview', {
  always: true,
  errors: (_, profile) => failureOf(profile, 'response') !== undefined,
  render: (data, profile) => html`<div class="messages"><div class="message-part">!${requestPart(data, profile)}</div>
<div class="message-part">!${responsePart(profile)}</div></div>`
})

function requestPart (data: Data, profile: Profile): string {
  const { httpVersion, query, cookies, headers, attributes, user, rawMessage, ...request } = data
  const line = {
    Method: request.method ?? profile.method,
    URL: profile.url,
    'IP address': profile.ip,
    ...(httpVersion !== undefined && { 'HTTP version': httpVersion }),
    ...(rawMessage !== undefined && { 'Raw message': rawMessage })
  }
  return pairsSection('Request', line) +
    pairsSection('Query parameters', query, 'The URL has no query.') +
    section('Request body', bodyOf(request)) +
    pairsSection('Cookies', cookies, 'The client sent no cookies.') +
    pairsSection('Request headers', headers, 'No headers were recorded.') +
    (attributes === undefined ? '' : pairsSection('Attributes', attributes)) +
    (user === undefined ? '' : pairsSection('User', isObject(user) ? user : { user }))
}

function responsePart (profile: Profile): string {
  const failure = failureOf(profile, 'response')
  if (failure !== undefined) return section('Response', failed('collector', failure))
  const { status = profile.status, headers, contentType, size, ...response } = dataOf(profile, 'response')
  const line = {
    Status: `${String(status)} ${STATUS_CODES[Number(status)] ?? ''}`.trim(),
    ...(contentType !== undefined && { 'Content type': contentType }),
    ...(size !== undefined && { Size: size === null ? 'unknown' : bytes(size) })
  }
  return pairsSection('Response', line) +
    section('Response body', bodyOf(response)) +
    pairsSection('Response headers', headers, 'No headers were recorded.')
}

function bodyOf ({ body, bodyNote }: Data): string {
  if (body === undefined || body === null) {
    return note(typeof bodyNote === 'string' ? `The body was ${bodyNote}` : 'No body was recorded.')
  }
  const isFlat = isObject(body) && Object.values(body).every((value) => typeof value !== 'object' || value === null)
  if (isFlat) return pairs('Body', body, 'An empty object.')
  const markup = json(body)
  return markup.length <= MAX_OPEN ? markup : fold(`Body, ${bytes(markup.length)} of text`, markup)
}
