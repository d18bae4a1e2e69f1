import { isUtf8 } from 'node:buffer'
import { ReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { attemptCall } from '../../../call.js'
import { generateNonce, headerValues, isRedirect, preventCaching, type Nonces } from '../../../http/responses.js'
import type { Origin } from '../../../http/origin.js'
import type { RequestTrace } from '../../../recording/trace.js'
import { unfinishedProfile } from '../../../parts/collect.js'
import { allowsToolbar, extendHeader, forbidsToolbar } from './policy.js'
import { renderToolbar, toolbarOf } from './toolbar.js'

/** The attributes and the end of a tag (HTML Standard, section 13.2.5): a value in quotes may have `>`. */
const ATTRIBUTES =
  '(?:[^\\s/>][^\\s/>=]*(?:\\s*=\\s*(?:"[^"]*(?:"|$)|\'[^\']*(?:\'|$)|[^\\s"\'>][^\\s>]*)?)?|[\\s/])*(?:>|$)'
/**
 * Comments, elements whose content is text, other tags, and what browsers read as comments. What is not closed extends
 * to the end of the page, so that each page takes linear time.
 */
const TOKENS = new RegExp([
  '<!--(?:-?>|[^]*?(?:--!?>|$))',
  `<(?<text>script|style|textarea|title|xmp|iframe|noembed|noframes|noscript)(?=[\\s/>])${ATTRIBUTES}[^]*?` +
    '(?:</\\k<text>(?=[\\s/>])|$)',
  '<plaintext(?=[\\s/>])[^]*',
  `<(?<name>/?[a-z][^\\s/>]*)${ATTRIBUTES}`,
  '<[!?/][^>]*(?:>|$)'
].join('|'), 'gi')
const POLICY_HEADERS = ['content-security-policy', 'content-security-policy-report-only'] as const
/** Headers that describe the original bytes, which the toolbar changes. */
const VALIDATORS = ['etag', 'last-modified', 'accept-ranges']
/** Maximum bytes of a file into which the toolbar is inserted. */
const MAX_LENGTH = 1_000_000

/**
 * Returns the function that inserts the toolbar into a response, for an `onSend` hook; `url` is that of its profile. It
 * returns the new payload (a promise of it for a file), or undefined, without a change of headers, if the response gets
 * no toolbar. A page with the toolbar is not cached. With a lifecycle the function adds nonces to the policies of the
 * response. Otherwise it removes the validators instead.
 */
export function insertToolbar ({ hindsight }: FastifyInstance): (
  trace: RequestTrace, payload: unknown, url: string
) => string | Promise<string | Readable> | undefined {
  const { mayReceiveDetails, originOf, base, parts, editor, warn } = hindsight

  function insert (trace: RequestTrace, payload: unknown, url: string): string | undefined {
    const { request, reply } = trace
    const page = textOf(payload)
    const end = endOf(page)
    if (end === undefined) return
    // A lifecycle composes the policy of its responses.
    const extendsPolicy = hindsight.lifecycle !== null
    const origin = originOf(request)
    const policies = POLICY_HEADERS.flatMap((name) => headerValues(reply, name))
    if (forbidsToolbar(page) || !allowsToolbar(policies, origin, extendsPolicy)) return
    const nonces = extendsPolicy ? { style: generateNonce(), script: generateNonce() } : undefined
    if (nonces !== undefined) extendPolicies(reply, nonces, origin)
    const unfinished = unfinishedProfile(trace, parts.filter((part) => part.toolbar !== undefined))
    const bar = toolbarOf(unfinished, url, parts, editor)
    const markup = inAscii(String(renderToolbar(bar, `${origin.prefix}${base}/_profiler`, nonces)))
    const whole = page.slice(0, end) + markup + page.slice(end)
    preventCaching(reply)
    if (!extendsPolicy) removeValidators(reply)
    if (reply.hasHeader('content-length')) reply.header('content-length', Buffer.byteLength(whole))
    return whole
  }

  async function insertIntoFile (
    trace: RequestTrace, file: ReadStream, url: string
  ): Promise<string | Readable> {
    // Fastify handles the error of a stream that has failed.
    const page = await buffer(file).catch(() => null)
    if (page === null) return file
    const whole = attemptCall(() => insert(trace, page, url), (error) => {
      warn('A page is sent without the toolbar', error)
    })
    if (whole === undefined) return Readable.from([page])
    // With the validators of a file the browser would show the toolbar of an earlier request.
    removeValidators(trace.reply)
    return whole
  }

  return (trace, payload, url) => {
    const { request, reply } = trace
    if (!mayReceiveDetails(request) || !isNavigation(request) || !isWholePage(trace)) return
    if (!(payload instanceof ReadStream)) return insert(trace, payload, url)
    const length = Number(reply.getHeader('content-length'))
    const isRead = request.method !== 'HEAD' && reply.statusCode !== 304 && length > 0 && length <= MAX_LENGTH
    if (isRead) return insertIntoFile(trace, payload, url)
  }
}

function removeValidators (reply: FastifyReply): void {
  for (const name of VALIDATORS) reply.removeHeader(name)
}

// Fetch Metadata, section 2.1: scripts request pages that are not displayed.
function isNavigation ({ headers }: FastifyRequest): boolean {
  const { 'x-requested-with': requestedWith, 'sec-fetch-dest': destination } = headers
  if (String(requestedWith ?? '').toLowerCase() === 'xmlhttprequest') return false
  return destination === undefined || destination === 'document' || destination === 'iframe'
}

function isWholePage ({ reply, diagnosticPolicy }: RequestTrace): boolean {
  const header = (name: string): string => String(reply.getHeader(name) ?? '')
  const type = header('content-type')
  const charset = /charset\s*=\s*"?([^\s;"]*)/i.exec(type)?.[1] ?? ''
  return diagnosticPolicy === undefined &&
    /^text\/html\s*(?:;|$)/i.test(type) && /^(?:utf-?8)?$/i.test(charset) &&
    !isRedirect(reply) && reply.statusCode !== 206 &&
    /^(?:identity)?$/i.test(header('content-encoding')) && /^(?:inline\b.*)?$/i.test(header('content-disposition'))
}

/** Where the body of a document ends, for which `</body>` is optional; undefined for other texts. */
function endOf (page: string): number | undefined {
  let [bodyEnd, htmlEnd, pageEnd]: Array<number | undefined> = []
  let isDocument = false
  let isInScript = false
  // Elements are not those of the page in templates, and not those of HTML in other languages.
  const open = new Map([['template', 0], ['svg', 0], ['math', 0]])
  // The added tag is found unless something before it is not closed.
  for (const { 0: token, index, groups } of `${page}<end>`.matchAll(TOKENS)) {
    const name = groups?.name?.toLowerCase() ?? ''
    if (groups?.text?.toLowerCase() === 'script') isInScript = isEscapedScript(token)
    else if (name === '/script') isInScript = false
    if (isInScript) continue
    const depth = open.get(name.replace('/', ''))
    if (depth !== undefined && !token.endsWith('/>')) {
      open.set(name.replace('/', ''), Math.max(0, depth + (name.startsWith('/') ? -1 : 1)))
    }
    if (/^<(?:!doctype|html|head|body)(?=[\s/>])/i.test(token)) isDocument = true
    if ([...open.values()].some((count) => count > 0)) continue
    if (name === 'frameset') return undefined
    if (name === '/body') bodyEnd = index
    if (name === '/html') htmlEnd = index
    if (index === page.length) pageEnd = index
  }
  if (!isDocument) return bodyEnd
  return bodyEnd ?? htmlEnd ?? pageEnd
}

/** Whether a script goes on after its first end tag, as that of the script that its comment begins (13.2.5.20). */
function isEscapedScript (token: string): boolean {
  const comment = token.slice(Math.max(0, token.lastIndexOf('-->')))
  const start = comment.indexOf('<!--')
  return start !== -1 && /<script[\s/>]/i.test(comment.slice(start))
}

function textOf (payload: unknown): string {
  if (typeof payload === 'string') return payload
  if (Buffer.isBuffer(payload) && isUtf8(payload)) return payload.toString('utf8')
  return ''
}

/** Writes characters outside ASCII as references: a browser may decode a page without a charset as windows-1252. */
function inAscii (markup: string): string {
  return markup.replace(/[^\0-\x7f]/gu, (character) => `&#${character.codePointAt(0)};`)
}

function extendPolicies (reply: FastifyReply, nonces: Nonces, origin: Origin): void {
  for (const name of POLICY_HEADERS) {
    const values = headerValues(reply, name).map((value) => extendHeader(value, nonces, origin))
    if (values.length > 0) reply.header(name, values.length === 1 ? values[0] : values)
  }
}
