import type { Profile } from '../lib/profiler/profile.js'

const LISTENERS = ['debug-handlers', 'content-security-policy', 'request-validation', 'cors', 'session', 'default-locale', 'router', 'locale', 'locale-aware-services', 'logout-url', 'firewall', 'pagination', 'router-data-collector', 'request-data-collector', 'controller-attributes', 'param-converter', 'http-cache', 'template', 'error', 'security-expression', 'is-granted', 'cors', 'content-type', 'referrer-policy', 'response', 'link-header', 'request-data-collector', 'http-cache', 'clickjacking', 'content-security-policy', 'xss-protection', 'cors-vary', 'profiler', 'error-csp-removal', 'debug-toolbar', 'robots', 'session', 'locale', 'router', 'firewall', 'asset-reset', 'locale-aware-services']
const PATHS = ['articles', 'customers', 'orders', 'search', 'api/v1/items', 'basket']
const HOUR = 3_600_000

/** One every 36 ms, so that a hundred thousand of them fill an hour. */
export const INTERVAL = 36

/** When the profile of this number arrived. */
export function timeOf (number: number): number {
  return Date.UTC(2026, 0, 1) + number * INTERVAL
}

/** An hour before the last of so many. */
export function lastHour (profiles: number): number {
  return timeOf(profiles) - HOUR
}

/** A token for each number below 2 ** 24, spread over all as drawn ones are. */
export function tokenOf (number: number): string {
  return (Math.imul(number, 0x9E3779B1) & 0xFFFFFF).toString(16).padStart(6, '0')
}

/** About 8 KB of JSON as the profiler collects it of a request with five log lines; every hundredth is a 404 and every thousandth a 500. */
export function sampleProfile (number: number): Profile {
  const id = text(8)
  const path = PATHS[number % PATHS.length] ?? ''
  const time = new Date(timeOf(number)).toISOString()
  const status = number % 1_000 === 7 ? 500 : number % 100 === 9 ? 404 : 200
  const url = `http://127.0.0.1:3000/${path}/${id}?page=${number % 90}&q=${text(10)}`
  return {
    version: 1,
    token: tokenOf(number),
    time,
    duration: milliseconds(40),
    method: number % 8 === 0 ? 'POST' : 'GET',
    url,
    ip: `10.${number % 3}.${number % 7}.${Math.floor(Math.random() * 250)}`,
    status,
    route: status === 404 ? null : { name: `${path} show`, pattern: `/${path}/:id`, params: { id }, methods: ['GET'], handler: `routes/${path}.ts:17` },
    exceptions: status === 200 ? [] : [failed(status, url)],
    logs: Array.from({ length: 5 }, (_, i) => ({ time, level: 'info' as const, channel: 'app', message: `line ${i} about ${text(20)}`, context: { reqId: `req-${number}`, item: text(12) } })),
    events: LISTENERS.map((listener, i) => event(listener, i)),
    collectors: {
      locale: { locale: 'en', source: 'default', default: 'en', enabled: [], acceptLanguage: { enabled: false, header: 'en,de;q=0.7' }, services: [] },
      router: { matched: { name: `${path} show`, pattern: `/${path}/:id`, params: { id }, methods: ['GET'], handler: `routes/${path}.ts:17` } },
      request: {
        method: 'GET',
        target: url.slice(21),
        httpVersion: '1.1',
        headers: { host: '127.0.0.1:3000', accept: 'text/html,application/json', 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36', 'accept-language': 'en,de;q=0.7', 'x-request-id': text(32), cookie: 'a=******; c=******' },
        query: { page: String(number % 90), q: text(10) },
        cookies: { a: '******', c: '******' },
        body: null,
        attributes: { _route: `${path} show`, id },
        session: { used: false }
      },
      response: {
        status,
        headers: { 'content-type': 'application/json; charset=utf-8', 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer, strict-origin-when-cross-origin', 'cache-control': 'no-cache, private', 'content-length': '17', 'x-frame-options': 'DENY', etag: text(27), 'x-xss-protection': '0', 'x-debug-token': tokenOf(number), 'x-robots-tag': 'noindex' },
        contentType: 'application/json; charset=utf-8',
        size: 17
      },
      performance: { total: milliseconds(40), handlerStart: milliseconds(2), handler: milliseconds(30) }
    }
  }
}

function event (listener: string, place: number): Profile['events'][number] {
  const known = { listener, pass: 'main' as const, start: milliseconds(40), duration: milliseconds(0.05) }
  if (place < 12) return { stage: 'kernel.request', outcome: place % 3 === 0 ? 'skipped' : 'ran', ...known, ...(place % 3 === 0 && { reason: 'not configured' }) }
  if (place < 21) return { stage: 'kernel.controller', outcome: 'ran', ...known }
  if (place % 4 !== 0) return { stage: 'kernel.response', outcome: 'ran', ...known }
  return { stage: 'kernel.response', outcome: 'ran', ...known, changes: { headers: [{ name: `x-${listener}`, from: null, to: text(6) }] } }
}

function failed (status: number, url: string): Profile['exceptions'][number] {
  const name = status === 404 ? 'NotFoundError' : 'TypeError'
  const message = status === 404 ? `No route found for "GET ${url}"` : `Cannot read properties of undefined (reading '${text(5)}')`
  return { name, message, statusCode: status, stack: `${name}: ${message}`, frames: Array.from({ length: 10 }, (_, i) => ({ file: `/app/routes/${text(4)}.ts`, line: i, column: 7, function: 'show', own: i < 2 })) }
}

function milliseconds (most: number): number {
  return Math.round(Math.random() * most * 1_000) / 1_000
}

function text (length: number): string {
  let text = ''
  while (text.length < length) text += Math.random().toString(36).slice(2)
  return text.slice(0, length)
}
