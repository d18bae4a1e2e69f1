import { isIP } from 'node:net'
import { dataOf, isObject, type Data } from '../panels/panel.js'
import type { Profile } from '../profile.js'

// RFC 9110, section 9, and RFC 5789: others are many, and would make as many series.
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'])

/** The attributes of the span of a request, by the semantic conventions of HTTP servers (stable since 1.23). */
export function serverAttributes (profile: Profile): Record<string, unknown> {
  const { token, method, url, status, ip, route, exceptions, parent } = profile
  const { headers, httpVersion } = dataOf(profile, 'request')
  const { 'user-agent': agent, 'content-length': length } = isObject(headers) ? headers : {}
  const { size } = dataOf(profile, 'response')
  const last = Array.isArray(exceptions) ? exceptions.at(-1) : undefined
  return {
    ...methodOf(method),
    ...partsOf(url, ['url.scheme', 'url.path', 'url.query', 'server.address', 'server.port']),
    'http.route': route?.pattern,
    'http.response.status_code': status,
    'http.request.body.size': /^\d+$/.test(String(length)) ? Number(length) : undefined,
    'http.response.body.size': typeof size === 'number' ? size : undefined,
    'client.address': isIP(String(ip)) === 0 ? undefined : ip,
    'network.protocol.version': httpVersion,
    'user_agent.original': agent,
    'error.type': status >= 500 ? last?.name ?? String(status) : undefined,
    'hindsight.token': token,
    'hindsight.parent': parent
  }
}

/** The same of a call to another server. */
export function clientAttributes ({ method, url, status, error }: Data): Record<string, unknown> {
  return {
    ...methodOf(String(method)),
    'url.full': url,
    ...partsOf(String(url), ['server.address', 'server.port']),
    'http.response.status_code': typeof status === 'number' ? status : undefined,
    'error.type': error !== undefined ? '_OTHER' : typeof status === 'number' && status >= 400 ? String(status) : undefined,
    'error.message': error
  }
}

function methodOf (method: string): Record<string, unknown> {
  return METHODS.has(method) ? { 'http.request.method': method } : { 'http.request.method': '_OTHER', 'http.request.method_original': method }
}

function partsOf (url: string, wanted: readonly string[]): Record<string, unknown> {
  if (!URL.canParse(url)) return {}
  const { protocol, pathname, search, hostname, port } = new URL(url)
  const scheme = protocol.slice(0, -1)
  const parts: Record<string, unknown> = {
    'url.scheme': scheme,
    'url.path': pathname,
    'url.query': search === '' ? undefined : search.slice(1),
    'server.address': hostname,
    'server.port': port === '' ? scheme === 'https' ? 443 : 80 : Number(port)
  }
  return Object.fromEntries(wanted.map((name) => [name, parts[name]]))
}
