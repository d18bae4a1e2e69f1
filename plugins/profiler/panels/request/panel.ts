import { html } from '../../../view/html.js'
import type { Profile } from '../../profile.js'
import { TOKEN_PATTERN } from '../../token.js'
import { failed, json, note, pairs, rows, section } from '../../ui/components.js'
import { dataOf, failureOf, isObject, listOf } from '../panel.js'
import type { Data, Panel } from '../panel.js'

const OF_REQUEST = ['method', 'url', 'headers', 'query', 'cookies', 'body', 'bodyCut', 'bodyNote', 'files', 'ip']
const OF_RESPONSE = ['status', 'headers']
const FILE_COLUMNS = { name: 'Field', filename: 'File name', type: 'Type', size: 'Bytes', truncated: 'Truncated' }

/** What came in, and what went out. */
export const requestPanel: Panel = {
  name: 'request',
  label: 'Request / Response',
  render: renderRequest
}

function renderRequest (profile: Profile): string {
  const request = dataOf(profile, 'request')
  const response = dataOf(profile, 'response')
  const requestFailure = failureOf(profile, 'request')
  const responseFailure = failureOf(profile, 'response')
  const line = {
    method: request.method ?? profile.method,
    url: request.url ?? profile.url,
    ip: request.ip ?? profile.ip,
    ...(requestFailure === undefined && Object.fromEntries(othersOf(request).filter(([, value]) => typeof value !== 'object')))
  }
  return [
    section('Request', pairs('Request', line) + causedBy(profile) + traced(profile)),
    requestFailure === undefined ? requestParts(request) : failed(requestFailure),
    section('Response', responseFailure === undefined
      ? pairs('Response', { status: response.status ?? profile.status, ...rest(response, OF_RESPONSE) })
      : failed(responseFailure)),
    responseFailure === undefined
      ? section('Response headers', pairs('Response headers', response.headers, 'No headers were recorded.'))
      : ''
  ].join('')
}

// The page is beside that of the other profile.
function causedBy ({ parent }: Profile): string {
  if (typeof parent !== 'string' || !TOKEN_PATTERN.test(parent)) return ''
  return html`<p class="facts">caused by <a href="${parent}">${parent}</a></p>`
}

function traced (profile: Profile): string {
  const { traceId, parentId, spanId } = dataOf(profile, 'trace')
  return traceId === undefined ? '' : html`<p class="facts">trace ${String(traceId)}, span ${String(spanId)} of ${String(parentId)}</p>`
}

function requestParts (request: Data): string {
  if (Object.keys(request).length === 0) return note('The request ended before its details were collected.')
  return [
    section('Query', pairs('Query', request.query, 'The URL has no query.')),
    section('Body', request.body === undefined || request.body === null
      ? note(typeof request.bodyNote === 'string' ? `The body was ${request.bodyNote}` : 'No body was read.')
      : isObject(request.body) ? pairs('Body', request.body, 'An empty object.') : json(request.body)),
    ...(typeof request.bodyCut === 'number' ? [note(`About ${request.bodyCut.toLocaleString('en')} bytes of the body were left out.`)] : []),
    ...(Array.isArray(request.files) ? [section('Files', rows('Files', FILE_COLUMNS, listOf(request.files), 'The form has no files.'))] : []),
    section('Cookies', pairs('Cookies', request.cookies, 'The client sent no cookies.')),
    section('Request headers', pairs('Request headers', request.headers, 'No headers were recorded.')),
    ...othersOf(request).filter(([, value]) => typeof value === 'object').map(([name, value]) =>
      section(titleOf(name), pairs(titleOf(name), value)))
  ].join('')
}

function othersOf (request: Data): Array<[string, unknown]> {
  return Object.entries(rest(request, OF_REQUEST))
}

function rest (data: Data, known: string[]): Data {
  return Object.fromEntries(Object.entries(data).filter(([name]) => !known.includes(name)))
}

function titleOf (name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
