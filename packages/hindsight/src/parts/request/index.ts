import { isDeepStrictEqual } from 'node:util'
import { shortFile } from '../../errors/stack-frame.js'
import { isClientHeader, prefersHtml } from '../../http/requests.js'
import { STATUS_CODES } from '../../http/node-http.js'
import { isFailure, type Profile } from '../../store/profile.js'
import {
  formatSize, failureNote, foldedContent, jsonBlock, noteText, pairsTable, pairsSection, titledSection, statusClass,
  statusOf
} from '../../view/components.js'
import {
  cutText, formatCount, html, textOrJson, visibleJson, visibleLine, type HtmlValue, type SafeHtml
} from '../../view/text.js'
import { addressOf, dataOf, failureOf, isObject, lineOf, splitUrl, type Data } from '../read.js'
import { NUMBER_COMPARISON, type Part, type TimelineEntry } from '../part.js'
import { isOneFailed } from '../pairing.js'
import { flattenPaths, type Values } from '../section.js'
import { DIAGNOSTIC_PAGE, received, sent, type Streamed } from './collector.js'

/** Characters of the markup of a body that is not folded. */
const MAX_OPEN = 8_000
/** Characters of a body in the overview. */
const MAX_EXCERPT = 500
/** Characters of the Markdown. */
const MAX_LINE = 300
const MAX_BODY = 10_000
const BODY = 'request body'
/** The headers of each client that statuses are about: a refused origin or address, and formats (RFC 9110, 15.5). */
const STATUSES_OF_CLIENT: Readonly<Record<number, RegExp>> = {
  403: /^(?:origin|referer|sec-fetch-site|x-forwarded-for|x-real-ip|forwarded)$/,
  406: /^accept/
}
/** The request and the response, in one panel. */
export const request: Part<Data> = {
  ...received,
  ofRequests: true,
  from: 'request',
  panel: {
    label: 'Request',
    group: 'request',
    always: true,
    problem: (_, profile) => failureOf(profile, 'response') !== undefined,
    render: (data, profile) => html`<div class="messages"><div class="message-part">${requestPart(data, profile)}</div>
<div class="message-part">${responsePart(profile)}</div></div>`
  },
  // No fact: the application may expect a stream.
  sentence: (_, profile) => streamedSentence(dataOf(profile, 'response').streamed),
  overview: (data, profile) => [
    { order: 50, title: 'Request body', column: 'side', value: bodyExcerpt(data) },
    { order: 51, title: 'Response body', column: 'side', value: bodyExcerpt(dataOf(profile, 'response')) }
  ],
  toolbar: (_, { status, method, exceptions }) => ({
    order: 10,
    className: `status status-${statusClass(statusOf(status, undefined, isFailure({ status, exceptions })))}`,
    title: 'Status',
    head: html`${status}`,
    facts: { Status: `${status} ${STATUS_CODES[status] ?? ''}`, Method: method }
  }),
  markdown: (data, { method, url }) => [{ order: 40, title: 'Request', text: messageOf(`${method} ${url}`, data) }],
  comparison: [
    {
      order: 30,
      label: 'Request',
      values: ({ httpVersion, headers }, { method, url }) => {
        const { origin, path, query } = splitUrl(url)
        const line = { method, origin, path, 'HTTP version': httpVersion }
        return { ...line, ...flattenPaths(query, 'query'), ...flattenPaths(headers, 'header') }
      }
    },
    {
      order: 40,
      name: 'body',
      label: 'Body of the request',
      values: (data) => ({ ...flattenPaths(bodyOfClient(data) ?? undefined), note: data.bodyNote })
    }
  ],
  differences: [
    { order: 30, isExact: true, values: valuesOfBody },
    { order: 40, values: (_, { url }) => flattenPaths(splitUrl(url).query, 'query parameter') },
    { order: 80, values: ({ user }) => flattenPaths(Object(user) as object, 'user') },
    {
      order: 60,
      // Each client has other values of these, so that they explain only what is about the client.
      values: ({ headers = {} }) => flattenPaths(
        { ...headers as object, ...presenceOf(headers as object, ['host', 'user-agent']) }, 'header'),
      isOfClient (name, { status }) {
        const header = name.replace(/^header /, '')
        return isClientHeader(header) && STATUSES_OF_CLIENT[status]?.test(header) !== true
      }
    }
  ],
  search: {
    kind: {
      valueOf: kindOf,
      pattern: /^(?:document|fetch|asset|injected|job|schedule|command|start)$/,
      problem: 'not document, fetch, asset, injected, job, schedule, command or start',
      help: 'document, fetch, asset, injected, job, schedule, command, start',
      column: 'Kind'
    }
  }
}

/** What a request is for, by its Fetch Metadata (section 2.1), else by its `Accept`. */
function kindOf ({ headers, injected }: Data): string | undefined {
  if (!isObject(headers)) return undefined
  if (injected === true) return 'injected'
  const { accept, 'sec-fetch-dest': destination } = headers
  if (destination === 'empty') return 'fetch'
  if (typeof destination === 'string') return /^(?:document|i?frame)$/.test(destination) ? 'document' : 'asset'
  if (typeof accept !== 'string') return 'fetch'
  if (/^(?:image\/|text\/css\b|font\/)/.test(accept)) return 'asset'
  return prefersHtml(accept) ? 'document' : 'fetch'
}

function presenceOf (headers: object, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.filter((name) => name in headers).map((name) => [name, 'sent']))
}

/** The panel of the request shows it. */
export const response: Part<Data> = {
  ...sent,
  timeline: streamedEntries,
  fact ({ bodyNote = '' }, { route, exceptions }) {
    const [, why] = /^not sent: (.* returned undefined|JSON has .*)$/.exec(String(bodyNote)) ?? []
    if (why === undefined || exceptions.length > 0) return undefined
    const place = route?.handler === undefined ? '' : ` (${shortFile(route.handler)})`
    return `The response has no body: ${why}${place}.`
  },
  markdown (data, { status }) {
    if (Object.keys(data).length === 0) return []
    let line = `${status} ${STATUS_CODES[status] ?? ''}`.trim()
    if (typeof data.sentBy === 'string') line += `, sent by ${shortFile(lineOf(data.sentBy))}`
    return [{ order: 32, title: 'Response', text: messageOf(line, data) }]
  },
  comparison: [{
    order: 70,
    label: 'Response',
    values ({ headers, size, body }, profile, other) {
      if (isOneFailed(profile, other)) return {}
      return { ...flattenPaths(headers, 'header'), size: size ?? undefined, body }
    }
  }],
  search: {
    size: {
      valueOf: ({ size }) => size,
      pattern: NUMBER_COMPARISON,
      problem: 'not a number of bytes such as >100000',
      help: 'bytes of the response, such as >100000',
      column: 'Size'
    }
  }
}

function requestPart (data: Data, profile: Profile): HtmlValue {
  const { httpVersion, query, cookies, headers, attributes, user, rawMessage, sentBody, ...request } = data
  const line = {
    URL: profile.url,
    'IP address': profile.ip,
    ...(httpVersion !== undefined && { 'HTTP version': httpVersion }),
    ...(rawMessage !== undefined && { 'Raw message': rawMessage })
  }
  return [
    pairsSection('Request', line),
    filled('Query parameters', query),
    titledSection('Request body', sentBody === undefined ? bodyOf(request) : comparedBody(sentBody, request.body)),
    filled('Cookies', cookies),
    pairsSection('Request headers', headers, 'No headers were recorded.'),
    filled('Attributes', attributes),
    filled('User', isObject(user) || user === undefined ? user : { user })
  ]
}

/** A table of names and values, unless there are none. */
function filled (title: string, data: unknown): HtmlValue {
  return isObject(data) && Object.keys(data).length > 0 && pairsSection(title, data)
}

function responsePart (profile: Profile): HtmlValue {
  const failure = failureOf(profile, 'response')
  if (failure !== undefined) return titledSection('Response', failureNote('collector', failure))
  const { status = profile.status, headers, contentType, size, sentBy, body, bodyNote } = dataOf(profile, 'response')
  const line = {
    Status: `${String(status)} ${STATUS_CODES[Number(status)] ?? ''}`.trim(),
    ...(contentType !== undefined && { 'Content type': contentType }),
    ...(size !== undefined && { Size: size === null ? 'unknown' : formatSize(size) }),
    ...(typeof sentBy === 'string' && { 'Sent by': shortFile(lineOf(sentBy)) })
  }
  return [
    pairsSection('Response', line),
    titledSection('Response body', bodyOf({ body, bodyNote })),
    pairsSection('Response headers', headers, 'No headers were recorded.')
  ]
}

/** The body that the client sent, in which the values are marked that the handler received as others. */
function comparedBody (sent: unknown, received: unknown): HtmlValue {
  const markup = html`<pre class="data">${markedJson(sent, received, '')}</pre>`
  const { length } = String(markup)
  return [
    noteText('As the client sent it. Marked: what the handler received in its place.'),
    length <= MAX_OPEN ? markup : foldedContent(`Body, ${formatSize(length)} of text`, markup)
  ]
}

/** Indented JSON of two values, with marks where they differ; the fields of objects and lists are compared. */
function markedJson (before: unknown, after: unknown, margin: string): HtmlValue {
  const textOf = (value: unknown): string => visibleJson(value, 2).replaceAll('\n', `\n${margin}`)
  if (isDeepStrictEqual(before, after)) return textOf(before)
  const areLists = Array.isArray(before) && Array.isArray(after)
  if (!areLists && !(isObject(before) && isObject(after))) {
    const [from, to] = [before, after].map((one) => one === undefined ? null : textOf(one))
    if (from === null) return html`<ins>${to}</ins>`
    if (to === null) return html`<del>${from}</del>`
    return html`<del>${from}</del> → <ins>${to}</ins>`
  }
  const [a, b] = [before, after] as [Data, Data]
  const inner = `${margin}  `
  const items = Object.keys({ ...a, ...b }).map((name, i) => {
    const label = areLists ? '' : `${JSON.stringify(name)}: `
    return html`${i > 0 && ','}\n${inner}${label}${markedJson(fieldOf(a, name), fieldOf(b, name), inner)}`
  })
  const [open, close] = areLists ? '[]' : '{}'
  return html`${open}${items}\n${margin}${close}`
}

// A client may name a field as a method of all objects.
function fieldOf (value: Data, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

/** The time from the head of a response to the end of its stream. */
function streamedEntries ({ streamed }: Data, profile: Profile): TimelineEntry[] {
  const { firstByte: start } = dataOf(profile, 'performance')
  if (!isObject(streamed) || streamed.isHijacked === true || typeof start !== 'number') return []
  const duration = profile.duration - start
  const [name, link] = ['streaming the response', addressOf('request')]
  return [{ name, legend: 'streaming', color: 'serialization', link, start, duration }]
}

/** What a stream or a hijacked reply has sent, and who ended it. */
function streamedSentence (streamed: unknown): string | undefined {
  if (!isObject(streamed)) return undefined
  const { isHijacked, isClosedByClient, isCutOff = false, chunks, bytes } = streamed as unknown as Streamed
  let size = bytes === undefined ? '' : formatSize(bytes)
  let by = 'ended by the server'
  if (isClosedByClient) by = 'closed by the client'
  else if (isCutOff) by = 'cut off by the server'
  // The sentence about what cut it off counts the headers, too.
  if (isCutOff && chunks !== undefined) size += ' without its headers'
  if (chunks !== undefined) return `The response streamed ${formatCount(chunks, 'chunk')}, ${size}; ${by}.`
  const wrote = size === '' ? '' : `, and wrote ${size} with the headers`
  const what = isHijacked ? 'The application hijacked the reply' : 'The response was a web stream'
  return `${what}${wrote}; ${by}.`
}

function bodyOf ({ body, bodyNote }: Data): SafeHtml {
  if (body === undefined || body === null) return noteText(missingText(bodyNote) ?? 'No body was recorded.')
  const isFlat = isObject(body) && Object.values(body).every((value) => typeof value !== 'object' || value === null)
  if (isFlat) return pairsTable('Body', body, 'An empty object.')
  const markup = jsonBlock(body)
  const { length } = String(markup)
  if (length <= MAX_OPEN) return markup
  return foldedContent(`Body, ${formatSize(length)} of text`, markup)
}

/** The body as the client sent it: validation may have converted and removed values for the handler. */
function bodyOfClient ({ body, sentBody = body }: Data): unknown {
  return sentBody
}

/** Why there is no body, as a sentence. */
function missingText (bodyNote: unknown): string | undefined {
  if (typeof bodyNote !== 'string') return undefined
  return `The body was ${bodyNote}.`
}

function bodyExcerpt (data: Data): HtmlValue {
  const body = bodyOfClient(data)
  const missing = missingText(data.bodyNote)
  if (missing !== undefined) return noteText(missing)
  if (body === undefined || body === null || body === '' || body === DIAGNOSTIC_PAGE) return null
  const text = typeof body === 'string' ? body : visibleJson(body, 1).replace(/\n */g, ' ')
  return html`<pre class="data">${cutText(text, MAX_EXCERPT)}</pre>`
}

/** The first line of a message, the body that the client sent, and the headers. */
function messageOf (line: string, data: Data): string {
  const { headers, bodyNote } = data
  const body = bodyOfClient(data)
  const fields = Object.entries(isObject(headers) ? headers : {}).map(([name, value]) => `${name}: ${String(value)}`)
  let content = missingText(bodyNote) ?? ''
  if (body !== null && body !== undefined) content = textOrJson(body)
  const lines = [line]
  if (content !== '') lines.push('', cutText(content, MAX_BODY), '')
  const text = [...lines, ...fields].join('\n')
  return text.split('\n').map((part) => visibleLine(cutText(part, MAX_LINE))).join('\n')
}

// Fields are compared only with fields: otherwise each of them would be a difference.
function valuesOfBody (data: Data, _profile: Profile, other: Profile): Values {
  const [body, otherBody] = [data, dataOf(other, 'request')].map((one) => one.bodyNote ?? bodyOfClient(one))
  const haveFields = [body, otherBody].every((one) => typeof one === 'object' && one !== null)
  if (haveFields) return flattenPaths(body, BODY)
  return { [BODY]: body ?? undefined }
}
