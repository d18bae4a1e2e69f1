import { html } from '../../../view/html.js'
import type { Profile } from '../../profile.js'
import { TOKEN_PATTERN } from '../../token.js'
import { failed, folded, note, pairs, rows, section } from '../../pages/components.js'
import { dataOf, failureOf, isObject, listOf } from '../panel.js'
import type { Data, Panel } from '../panel.js'

const OF_REQUEST = ['method', 'url', 'headers', 'query', 'cookies', 'body', 'bodyCut', 'bodyNote', 'files', 'ip']
const OF_RESPONSE = ['status', 'headers']
const FILE_COLUMNS = { name: 'Field', filename: 'File name', type: 'Type', size: 'Bytes', truncated: 'Truncated' }

/** What came in, and what went out. */
export const requestPanel: Panel = {
  name: 'request',
  label: 'Request / Response',
  group: 'overview',
  always: true,
  problem: (profile) => failureOf(profile, 'request') !== undefined || failureOf(profile, 'response') !== undefined,
  render: (profile) => {
    const parts = [...requestParts(profile), ...responseParts(profile)]
    return html`<ul class="jump" aria-label="Parts of this panel">!${parts.map(([id, title]) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>` +
      parts.map(([id, title, content]) => section(title, content, id)).join('')
  }
}

type Part = [id: string, title: string, content: string]

function requestParts (profile: Profile): Part[] {
  const request = dataOf(profile, 'request')
  const failure = failureOf(profile, 'request')
  const known = failure === undefined
  const line = {
    method: request.method ?? profile.method,
    url: request.url ?? profile.url,
    ip: request.ip ?? profile.ip,
    ...(known && Object.fromEntries(othersOf(request).filter(([, value]) => typeof value !== 'object')))
  }
  const parts: Part[] = [['request', 'Request', pairs('Request', line) + causedBy(profile) + (known ? '' : failed(failure))]]
  if (!known) return parts
  if (Object.keys(request).length === 0) {
    return [['request', 'Request', pairs('Request', line) + causedBy(profile) + note('The request ended before its details were collected.')]]
  }
  parts.push(['query', 'Query', pairs('Query', request.query, 'The URL has no query.')], ['body', 'Body', body(request)])
  if (Array.isArray(request.files)) parts.push(['files', 'Files', rows('Files', FILE_COLUMNS, listOf(request.files), 'The form has no files.')])
  parts.push(['cookies', 'Cookies', pairs('Cookies', request.cookies, 'The client sent no cookies.')],
    ['request-headers', 'Request headers', pairs('Request headers', request.headers, 'No headers were recorded.')])
  for (const [name, value] of othersOf(request)) {
    if (typeof value === 'object') parts.push([`request-${parts.length}`, titleOf(name), pairs(titleOf(name), value)])
  }
  return parts
}

function responseParts (profile: Profile): Part[] {
  const response = dataOf(profile, 'response')
  const failure = failureOf(profile, 'response')
  if (failure !== undefined) return [['response', 'Response', failed(failure)]]
  return [
    ['response', 'Response', pairs('Response', { status: response.status ?? profile.status, ...rest(response, OF_RESPONSE) })],
    ['response-headers', 'Response headers', pairs('Response headers', response.headers, 'No headers were recorded.')]
  ]
}

function body ({ body, bodyCut, bodyNote, headers }: Data): string {
  if (body === undefined || body === null) return note(typeof bodyNote === 'string' ? `The body was ${bodyNote}` : 'No body was read.')
  const cut = typeof bodyCut === 'number' ? note(`About ${bodyCut.toLocaleString('en')} bytes of the body were left out.`) : ''
  const type = isObject(headers) ? headers['content-type'] : undefined
  const told = typeof type === 'string' ? html`<p class="facts">${type}</p>` : ''
  const isFlat = isObject(body) && Object.values(body).every((value) => typeof value !== 'object' || value === null)
  return told + (isFlat ? pairs('Body', body, 'An empty object.') : folded('Body', parsed(body))) + cut
}

// JSON that nobody parsed is as hard to read for people.
function parsed (value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value
  }
}

// The page is beside that of the other profile.
function causedBy ({ parent }: Profile): string {
  if (typeof parent !== 'string' || !TOKEN_PATTERN.test(parent)) return ''
  return html`<p class="facts">caused by <a href="${parent}">${parent}</a></p>`
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
