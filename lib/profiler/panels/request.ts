import { STATUS_CODES } from 'node:http'
import { html } from '../../view/html.js'
import { bytes, failed, folded, note, pairs, section } from '../pages/components.js'
import type { Profile } from '../profile.js'
import { dataOf, failureOf, isObject, type Data, type Panel } from './panel.js'

/** Fields of the request with a part of their own. */
const REQUEST_FIELDS = ['method', 'url', 'headers', 'query', 'cookies', 'body', 'bodyCut', 'bodyNote', 'ip']

/** Headers that are lists of parts which are read one by one. */
const SEPARATORS: ReadonlyMap<string, RegExp> = new Map([
  ['cookie', /;/], ['set-cookie', /;/], ['content-security-policy', /;/], ['cache-control', /,/], ['link', /,(?=\s*<)/],
  ['server-timing', /,/]
])

const LABELS: ReadonlyMap<string, string> = new Map([
  ['method', 'Method'], ['url', 'URL'], ['ip', 'IP address'], ['target', 'Target'], ['httpVersion', 'HTTP version'],
  ['status', 'Status'], ['contentType', 'Content type'], ['size', 'Size'], ['rawMessage', 'Raw message']
])

type Part = [id: string, title: string, content: string]

/** The request and the response. */
export const requestPanel: Panel = {
  name: 'request',
  label: 'Request / Response',
  group: 'overview',
  always: true,
  problem: (profile) => [failureOf(profile, 'request'), failureOf(profile, 'response')].some(Boolean),
  render: (profile) => {
    const messages = [requestParts(profile), responseParts(profile)].map((parts) =>
      html`<div class="message-part">!${parts.map(([id, title, content]) => section(title, content, id))}</div>`)
    return html`<div class="messages">!${messages}</div>`
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
  const first = labelled('Request', line)
  if (failure !== undefined) return [['request', 'Request', first + failed(failure)]]
  if (Object.keys(request).length === 0) {
    return [['request', 'Request', first + note('The request ended before its details were collected.')]]
  }
  const { query, cookies, headers } = request
  return [
    ['request', 'Request', first],
    ['query', 'Query parameters', pairs('Query parameters', query, 'The URL has no query.')],
    ['body', 'Request body', bodyOf(request)],
    ['cookies', 'Cookies', pairs('Cookies', cookies, 'The client sent no cookies.')],
    ['request-headers', 'Request headers', headerTable('Request headers', headers)],
    ...others.filter(([, value]) => typeof value === 'object').map(([name, value], i): Part => {
      const title = name.charAt(0).toUpperCase() + name.slice(1)
      return [`request-more-${i + 1}`, title, pairs(title, value)]
    })
  ]
}

function responseParts (profile: Profile): Part[] {
  const failure = failureOf(profile, 'response')
  if (failure !== undefined) return [['response', 'Response', failed(failure)]]
  const { status, headers, contentType, size, body, bodyCut, ...others } = dataOf(profile, 'response')
  const line = {
    status: `${String(status ?? profile.status)} ${STATUS_CODES[Number(status ?? profile.status)] ?? ''}`.trim(),
    ...(contentType !== undefined && { contentType }),
    ...(size !== undefined && { size: size === null ? 'unknown' : bytes(size) }),
    ...others
  }
  const content = body === undefined
    ? note('No body was recorded: it is empty, or the response ended early.')
    : bodyOf({ body, bodyCut, headers })
  return [
    ['response', 'Response', labelled('Response', line)],
    ['response-body', 'Response body', content],
    ['response-headers', 'Response headers', headerTable('Response headers', headers)]
  ]
}

function labelled (title: string, line: Data): string {
  return pairs(title, Object.entries(line).map(([name, value]) => [LABELS.get(name) ?? name, value]))
}

/** Headers as they were sent, each with its parts in readable form where these differ. */
export function headerTable (label: string, headers: unknown): string {
  const entries = Object.entries(isObject(headers) ? headers : {})
  if (entries.length === 0) return note('No headers were recorded.')
  const rows = entries.map(([name, value]) => {
    const values = [value].flat().map(String)
    const lines = values.map((one) => {
      const parts = decodedHeader(name, one).map((part) => html`<li>${part}</li>`)
      return html`<div>${one}</div>!${parts.length === 0 ? '' : html`<ul class="decoded">!${parts}</ul>`}`
    })
    return html`<tr><th scope="row">${name}</th><td>!${lines}</td></tr>`
  })
  return html`<table class="pairs" aria-label="${label}"><tbody>!${rows}</tbody></table>`
}

/** The parts of a header's value, percent-decoded; empty if they say no more than the value. */
function decodedHeader (name: string, value: string): string[] {
  if (name === 'authorization' || name === 'proxy-authorization') return [`scheme ${value.split(' ', 1)[0]}`]
  if (name === 'content-length' && Number(value) >= 10_000) return [bytes(Number(value))]
  const separator = SEPARATORS.get(name)
  const parts = (separator === undefined ? [value] : value.split(separator)).map((part) => percentDecoded(part.trim()))
  return parts.length === 1 && parts[0] === value ? [] : parts.filter((part) => part !== '')
}

function percentDecoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
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
