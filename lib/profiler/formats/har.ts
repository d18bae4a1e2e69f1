import { STATUS_CODES } from 'node:http'
import { MASKED } from '../../mask/mask.js'
import { bodyPieces, headerPieces, joined, targetPieces, type Piece } from '../resend/pieces.js'
import type { Text } from '../resend/masked.js'
import { headOf, type Format } from './format.js'
import { seen } from './js-text.js'

interface NamedValue {
  name: string
  value: string
}

/** An HTTP archive, version 1.2: what came in, and what went out but for its body. */
export const har: Format = {
  name: 'har',
  label: 'HAR',
  file: (token) => `hindsight-${token}.har`,
  type: 'application/json; charset=utf-8',
  write: (request, profile) => {
    const { method, origin, host, query, cookies, gaps } = request
    const body = bodyPieces(request)
    const data = record(profile.collectors.response)
    const headers = headerPieces(request).map(([name, value]): NamedValue => ({ name, value: plain(value) }))
    const answered = headersOf(record(data.headers))
    const text = body === null ? null : plain(body)
    return `${seen(JSON.stringify({
      log: {
        version: '1.2',
        creator: { name: 'fastify-hindsight', version: '1' },
        entries: [{
          startedDateTime: profile.time,
          time: profile.duration,
          request: {
            method,
            url: origin + uriText(plain(targetPieces(request))),
            httpVersion: `HTTP/${String(record(profile.collectors.request).httpVersion ?? '1.1')}`,
            headers: host === null ? headers : [{ name: 'host', value: host }, ...headers],
            cookies: cookies.map(pairOf),
            queryString: query.map(pairOf).map(({ name, value }) => ({ name: decoded(name), value: decoded(value) })),
            headersSize: -1,
            bodySize: text === null ? (request.lost === null ? 0 : -1) : Buffer.byteLength(text),
            ...text !== null && { postData: { mimeType: valueOf(headers, 'content-type'), text } },
            comment: [...headOf(request, profile), ...gaps.map(({ where }) => `Masked: ${where}.`)].join('\n')
          },
          response: {
            status: profile.status,
            statusText: STATUS_CODES[profile.status] ?? '',
            httpVersion: 'HTTP/1.1',
            headers: answered,
            cookies: answered.filter(({ name }) => name === 'set-cookie').map(({ value }) => pairOf(value.split(';', 1)[0] ?? '')),
            content: { size: typeof data.size === 'number' ? data.size : 0, mimeType: valueOf(answered, 'content-type'), comment: 'The profile does not keep the body of the response.' },
            redirectURL: valueOf(answered, 'location'),
            headersSize: -1,
            bodySize: typeof data.size === 'number' ? data.size : -1
          },
          cache: {},
          timings: { send: 0, wait: profile.duration, receive: 0 }
        }]
      }
    }, null, 2))}\n`
  }
}

function plain (pieces: readonly Piece[]): string {
  return joined(pieces, () => MASKED)
}

// RFC 3986 has no brackets in paths and queries, and no lone percent sign.
function uriText (target: string): string {
  return target.replace(/[[\]]|%(?![0-9a-f]{2})/gi, encodeURIComponent)
}

function pairOf (text: Text): NamedValue {
  const pair = typeof text === 'string' ? text : text.text
  const equals = pair.indexOf('=')
  return equals === -1 ? { name: pair, value: '' } : { name: pair.slice(0, equals), value: pair.slice(equals + 1) }
}

function headersOf (headers: Readonly<Record<string, unknown>>): NamedValue[] {
  return Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => ({ name: name.toLowerCase(), value: String(one) })))
}

function valueOf (headers: readonly NamedValue[], wanted: string): string {
  return headers.find(({ name }) => name === wanted)?.value ?? ''
}

function decoded (text: string): string {
  return new URLSearchParams(`x=${text}`).get('x') ?? ''
}

function record (value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? value as Record<string, unknown> : {}
}
