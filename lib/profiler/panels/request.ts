import { html } from '../../view/html.js'
import { failed, folded, note, pairs, section } from '../pages/components.js'
import type { Profile } from '../profile.js'
import { dataOf, failureOf, isObject, type Data, type Panel } from './panel.js'

/** Fields of the request with a part of their own. */
const REQUEST_FIELDS = ['method', 'url', 'headers', 'query', 'cookies', 'body', 'bodyCut', 'bodyNote', 'ip']

type Part = [id: string, title: string, content: string]

/** The request and the response. */
export const requestPanel: Panel = {
  name: 'request',
  label: 'Request / Response',
  group: 'overview',
  always: true,
  problem: (profile) => [failureOf(profile, 'request'), failureOf(profile, 'response')].some(Boolean),
  render: (profile) => {
    const parts = [...requestParts(profile), ...responseParts(profile)]
    const links = parts.map(([id, title]) => html`<li><a href="#${id}">${title}</a></li>`)
    return html`<ul class="jump" aria-label="Parts of this panel">!${links}</ul>` +
      parts.map(([id, title, content]) => section(title, content, id)).join('')
  }
}

function requestParts (profile: Profile): Part[] {
  const failure = failureOf(profile, 'request')
  const request = failure === undefined ? dataOf(profile, 'request') : {}
  const others = Object.entries(request).filter(([name]) => !REQUEST_FIELDS.includes(name))
  const line = {
    method: request.method ?? profile.method,
    url: request.url ?? profile.url,
    ip: request.ip ?? profile.ip,
    ...Object.fromEntries(others.filter(([, value]) => typeof value !== 'object'))
  }
  const first = pairs('Request', line)
  if (failure !== undefined) return [['request', 'Request', first + failed(failure)]]
  if (Object.keys(request).length === 0) {
    return [['request', 'Request', first + note('The request ended before its details were collected.')]]
  }
  const { query, cookies, headers } = request
  return [
    ['request', 'Request', first],
    ['query', 'Query', pairs('Query', query, 'The URL has no query.')],
    ['body', 'Body', bodyOf(request)],
    ['cookies', 'Cookies', pairs('Cookies', cookies, 'The client sent no cookies.')],
    ['request-headers', 'Request headers', pairs('Request headers', headers, 'No headers were recorded.')],
    ...others.filter(([, value]) => typeof value === 'object').map(([name, value], i): Part => {
      const title = name.charAt(0).toUpperCase() + name.slice(1)
      return [`request-more-${i + 1}`, title, pairs(title, value)]
    })
  ]
}

function responseParts (profile: Profile): Part[] {
  const failure = failureOf(profile, 'response')
  if (failure !== undefined) return [['response', 'Response', failed(failure)]]
  const { status, headers, ...response } = dataOf(profile, 'response')
  return [
    ['response', 'Response', pairs('Response', { status: status ?? profile.status, ...response })],
    ['response-headers', 'Response headers', pairs('Response headers', headers, 'No headers were recorded.')]
  ]
}

function bodyOf ({ body, bodyCut, bodyNote, headers }: Data): string {
  if (body === undefined || body === null) {
    return note(typeof bodyNote === 'string' ? `The body was ${bodyNote}` : 'No body was read.')
  }
  const type = isObject(headers) ? headers['content-type'] : undefined
  const isFlat = isObject(body) && Object.values(body).every((value) => typeof value !== 'object' || value === null)
  return (typeof type === 'string' ? html`<p class="facts">${type}</p>` : '') +
    (isFlat ? pairs('Body', body, 'An empty object.') : folded('Body', parsedJson(body))) +
    (typeof bodyCut === 'number' ? note(`About ${bodyCut.toLocaleString('en')} bytes of the body were left out.`) : '')
}

// JSON that was received as text is indented like parsed JSON.
function parsedJson (value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value
  }
}
