import { STATUS_CODES } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type {} from '../logs/request-log.js'
import type {} from './exception.js'
import { explainMiss, notFound } from '../routing/route-error.js'
import { diagnosticPage, type Pages } from './diagnostic-page.js'
import { flattenError } from './flatten-error.js'
import { prefersHtml } from './negotiate.js'
import { read } from './thrown-value.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** Bodies of the default answers of a framework to what was raised: the diagnostic page may replace them. */
    defaultAnswers?: readonly string[]
  }
}

/** Headers that describe the body that the page replaces. */
const REPLACED = ['content-security-policy', 'content-security-policy-report-only', 'etag', 'last-modified', 'accept-ranges']

/** Why a request is answered as not found: no route matched, or its handler called `reply.callNotFound()`, after which it has none; null where it is not. */
export function missedRoute (request: FastifyRequest, reply: FastifyReply): Error | null {
  if (reply.statusCode !== 404 || stateOf(request).failed || !request.is404) return null
  const why = explainMiss(request)
  return 'error' in why ? why.error : notFound(request)
}

/**
 * The diagnostic page in place of an error that Fastify answers by default, for a request that prefers HTML and may see it; null for every other
 * answer. Whatever the application has made itself is never replaced.
 */
export function diagnosticAnswer (pages: Pages, request: FastifyRequest, reply: FastifyReply, payload: unknown): string | Buffer | null {
  const { statusCode } = reply
  if (statusCode < 400 || request.method === 'HEAD' || !prefersHtml(request.headers.accept) || !servicesOf(request).mayReadDebug(request) || !isDefaultAnswer(request, reply, payload)) return null
  const state = stateOf(request)
  if (!state.failed) state.exceptions = flattenError(state.missed)
  state.recorder?.setOutside(reply, 'diagnostic page')
  const { body } = diagnosticPage(pages, request, reply, 'html', STATUS_CODES[statusCode] ?? 'Error')
  for (const name of REPLACED) reply.removeHeader(name)
  reply.header('content-type', 'text/html; charset=utf-8').header('content-length', Buffer.byteLength(body)).header('content-security-policy', state.ownPolicy)
  return body
}

function isDefaultAnswer (request: FastifyRequest, reply: FastifyReply, payload: unknown): boolean {
  const { failed, raised, defaultAnswers = [] } = stateOf(request)
  if (typeof payload === 'string' && defaultAnswers.includes(payload)) return true
  if (!failed) return request.is404 && isDefaultNotFound(request, payload)
  if (typeof payload !== 'string') return false
  if (raised instanceof Error) return isDefaultError(raised, reply, payload)
  // Fastify sends a thrown value that is no error as it is.
  if (raised === null || raised === undefined) return false
  return payload === (typeof raised === 'string' ? raised : JSON.stringify(raised))
}

function isDefaultNotFound ({ raw: { method, url } }: FastifyRequest, payload: unknown): boolean {
  return payload === JSON.stringify({ message: `Route ${method}:${url} not found`, error: 'Not Found', statusCode: 404 })
}

// `{"statusCode":500,"code":"…","error":"Internal Server Error","message":"…"}`, the code only where the error has one.
function isDefaultError (error: Error, { statusCode }: FastifyReply, payload: string): boolean {
  let body: unknown
  try {
    body = JSON.parse(payload)
  } catch {
    return false
  }
  if (typeof body !== 'object' || body === null) return false
  const code = read(error, 'code')
  const expected = { statusCode, ...(code !== undefined && { code: String(code) }), error: STATUS_CODES[statusCode], message: String(read(error, 'message')) }
  const entries = Object.entries(body)
  return entries.length === Object.keys(expected).length && entries.every(([name, value]) => String((expected as Record<string, unknown>)[name]) === String(value))
}

/** The error that an error handler has thrown, or null: no hook receives it, but Fastify answers and logs it as it does by default. */
export function secondError (request: FastifyRequest, reply: FastifyReply, payload: unknown): Error | null {
  const { failed, raised, log } = stateOf(request)
  if (!failed || typeof payload !== 'string' || reply.statusCode < 500 || !payload.startsWith('{"statusCode":')) return null
  const { message } = parsed(payload)
  if (typeof message !== 'string' || message === read(raised, 'message')) return null
  const isLogged = log?.entries().some((entry) => entry.level === 'error' && entry.read().message === message)
  if (isLogged !== true) return null
  const second = new Error(message, { cause: raised })
  second.stack = `Error: ${message}`
  return second
}

function parsed (payload: string): { message?: unknown } {
  try {
    return JSON.parse(payload) as { message?: unknown }
  } catch {
    return {}
  }
}
