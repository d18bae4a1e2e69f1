import createError from '@fastify/error'
import { STATUS_CODES } from '../../http/node-http.js'
import { MASKED } from '../../mask/mask.js'
import { visibleJson } from '../../view/json.js'
import { dataOf } from '../../parts/read.js'
import type { Profile } from '../../store/profile.js'
import { fillRequest } from '../replay/fill.js'
import { headerPairs, placeholderOf, storedRequest } from '../replay/stored-request.js'
import { commentText, curl, fetchFormat, httpFile, test, type Format } from './snippets.js'

type NamedValue = Record<'name' | 'value', string>

/** An HTTP archive, version 1.2: the request, and the response without its body. */
export const har: Format = {
  name: 'har',
  extension: '.har',
  type: 'application/json; charset=utf-8',
  write: ({ request, profile, head }) => {
    const { method, target, headers: sent, body } = fillRequest(request, () => MASKED)
    const headers = namedValues(sent)
    const data = dataOf(profile, 'response')
    const size = typeof data.size === 'number' ? data.size : undefined
    const received = namedValues(data.headers)
    const query = new URLSearchParams(target.split('?').slice(1).join('?'))
    const entry = {
      startedDateTime: profile.time,
      time: profile.duration,
      request: {
        method,
        url: request.origin + uriText(target),
        httpVersion: `HTTP/${String(dataOf(profile, 'request').httpVersion ?? '1.1')}`,
        headers,
        // The archive has them among the headers.
        cookies: [],
        queryString: [...query].map(([name, value]) => ({ name, value })),
        headersSize: -1,
        bodySize: body !== undefined ? Buffer.byteLength(body) : request.bodyProblem === undefined ? 0 : -1,
        ...body !== undefined && { postData: { mimeType: valueOf(headers, 'content-type'), text: body } },
        comment: head.join('\n')
      },
      response: {
        status: profile.status,
        statusText: STATUS_CODES[profile.status] ?? '',
        httpVersion: 'HTTP/1.1',
        headers: received,
        cookies: [],
        content: { size: size ?? 0, mimeType: valueOf(received, 'content-type') },
        redirectURL: valueOf(received, 'location'),
        headersSize: -1,
        bodySize: size ?? -1
      },
      cache: {},
      timings: { send: 0, wait: profile.duration, receive: 0 }
    }
    const log = { version: '1.2', creator: { name: 'fastify-hindsight', version: '1' }, entries: [entry] }
    return `${visibleJson({ log }, 2)}\n`
  }
}

// RFC 3986 allows neither brackets in paths and queries nor a percent sign alone.
function uriText (target: string): string {
  return target.replace(/[[\]]|%(?![0-9a-f]{2})/gi, encodeURIComponent)
}

function namedValues (headers: unknown): NamedValue[] {
  return headerPairs(headers).map(([name, value]) => ({ name, value: String(value) }))
}

function valueOf (headers: readonly NamedValue[], wanted: string): string {
  return headers.find(({ name }) => name === wanted)?.value ?? ''
}

export const FORMATS: readonly Format[] = [curl, fetchFormat, httpFile, har, test]

const UnknownFormatError = createError('HINDSIGHT_NOT_AVAILABLE',
  `A profile is not available as "%s"; the formats are: ${FORMATS.map(({ name }) => name).join(', ')}.`, 404)

/** Writes the request of a profile in a format; throws a `NotSendableError` if the profile has no such request. */
export function writeAs (wanted: string, profile: Profile): { file: string, type: string, text: string } {
  const format = FORMATS.find(({ name }) => name === wanted)
  if (format === undefined) throw new UnknownFormatError(wanted)
  const request = storedRequest(profile)
  const message = fillRequest(request, ({ env }) => placeholderOf(env))
  const { origin, bodyProblem, notes } = request
  const { token, status, method, url, time } = profile
  const head = [
    `Made from the profile ${token} of ${commentText(time)}: ${status} ${commentText(`${method} ${url}`)}`,
    ...bodyProblem === undefined ? [] : [`The body is missing here: ${commentText(bodyProblem)}.`],
    ...notes.map(commentText)
  ]
  const impliedHost = origin.replace(/^https?:\/\//i, '')
  const headers = headerPairs(message.headers).map(([name, value]) => [name, String(value)] as const)
    .filter(([name, value]) => name !== 'host' || value !== impliedHost)
  const text = format.write({ request, message, url: origin + message.target, headers, profile, head })
  return { file: `hindsight-${token}${format.extension}`, type: format.type ?? 'text/plain; charset=utf-8', text }
}
