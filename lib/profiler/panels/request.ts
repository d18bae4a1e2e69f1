import { STATUS_CODES } from 'node:http'
import { bytes, failed, folded, note, pairs, pairsSection, section } from '../pages/components.js'
import { html } from '../../view/html.js'
import type { Profile } from '../profile.js'
import { dataOf, failureOf, isObject, onlyErrors, type Data, type Panel } from './panel.js'

/** The request and the response. */
export const requestPanel: Panel = {
  name: 'request',
  label: 'Request / Response',
  group: 'overview',
  always: true,
  problems: (profile) => onlyErrors(['request', 'response'].some((name) => failureOf(profile, name) !== undefined)),
  render: (profile) => {
    const messages = [requestPart(profile), responsePart(profile)]
      .map((part) => html`<div class="message-part">!${part}</div>`)
    return html`<div class="messages">!${messages}</div>`
  }
}

function requestPart (profile: Profile): string {
  const failure = failureOf(profile, 'request')
  if (failure !== undefined) return section('Request', failed(failure))
  const { httpVersion, query, cookies, headers, attributes, user, rawMessage, ...request } = dataOf(profile, 'request')
  const line = {
    Method: request.method ?? profile.method,
    URL: profile.url,
    'IP address': profile.ip,
    ...(httpVersion !== undefined && { 'HTTP version': httpVersion }),
    ...(rawMessage !== undefined && { 'Raw message': rawMessage })
  }
  return pairsSection('Request', line) +
    pairsSection('Query parameters', query, 'The URL has no query.') +
    section('Request body', bodyOf(request, headers)) +
    pairsSection('Cookies', cookies, 'The client sent no cookies.') +
    pairsSection('Request headers', headers, 'No headers were recorded.') +
    (attributes === undefined ? '' : pairsSection('Attributes', attributes)) +
    (user === undefined ? '' : pairsSection('User', isObject(user) ? user : { user }))
}

function responsePart (profile: Profile): string {
  const failure = failureOf(profile, 'response')
  if (failure !== undefined) return section('Response', failed(failure))
  const { status = profile.status, headers, contentType, size, ...response } = dataOf(profile, 'response')
  const line = {
    Status: `${String(status)} ${STATUS_CODES[Number(status)] ?? ''}`.trim(),
    ...(contentType !== undefined && { 'Content type': contentType }),
    ...(size !== undefined && { Size: size === null ? 'unknown' : bytes(size) })
  }
  return pairsSection('Response', line) +
    section('Response body', bodyOf(response, headers)) +
    pairsSection('Response headers', headers, 'No headers were recorded.')
}

function bodyOf ({ body, bodyNote }: Data, headers: unknown): string {
  if (body === undefined || body === null) {
    return note(typeof bodyNote === 'string' ? `The body was ${bodyNote}` : 'No body was recorded.')
  }
  const type = isObject(headers) ? headers['content-type'] : undefined
  const isFlat = isObject(body) && Object.values(body).every((value) => typeof value !== 'object' || value === null)
  return (typeof type === 'string' ? html`<p class="facts">${type}</p>` : '') +
    (isFlat ? pairs('Body', body, 'An empty object.') : folded('Body', body))
}
