import type { FlattenedException } from '../../errors/exception.js'
import { dataOf, type Data } from '../read.js'
import type { UnfinishedProfile } from '../../store/profile.js'
import { isFailed } from './groups.js'

/**
 * The calls that may explain a failure: those that failed; those whose responses are not the JSON that they, or the
 * parser that raised the error, required; or else the last one before a parser of JSON raised the error.
 */
export function suspectCalls (
  calls: readonly Data[], { collectors, exceptions = [] }: Pick<UnfinishedProfile, 'collectors' | 'exceptions'>
): Array<{ title: string, calls: Data[] }> {
  const { handlerStart, handler } = dataOf({ collectors }, 'performance')
  // Not a number where a hook has raised the error.
  const raisedAt = Number(handlerStart) + Number(handler)
  const isOfParser = isJsonError(exceptions)
  const answered = calls.filter((call) => call.status != null && !isFailed(call))
  const isSuspect = isOfParser ? hasNoJson : isPageForJson
  const others = answered.filter((call) => exceptions.length > 0 && isSuspect(call))
  const last = answered.filter(({ start, duration }) => Number(start) + Number(duration) <= raisedAt).slice(-1)
  return [
    { title: 'Failed calls to other servers', calls: calls.filter(isFailed) },
    { title: 'Response without JSON', calls: others },
    { title: 'Last call before the error', calls: isOfParser && others.length === 0 ? last : [] }
  ].filter(({ calls }) => calls.length > 0)
}

/** Whether the root cause is an error of a JSON parser, which has not read the body of the request. */
function isJsonError (exceptions: readonly FlattenedException[]): boolean {
  const { name, message } = exceptions[0] ?? {}
  return /^(?:Syntax|Parse)Error$/.test(String(name)) && /\bJSON\b/.test(String(message)) &&
    exceptions.at(-1)?.rejected === undefined
}

function hasNoJson ({ responseHeaders }: Data): boolean {
  return !/json/i.test(mediaType(responseHeaders)) || header(responseHeaders, 'content-length') === '0'
}

/** Whether a page came where JSON was accepted first: some clients return its text instead of an object then. */
function isPageForJson ({ requestHeaders, responseHeaders }: Data): boolean {
  return /^[^,]*json/i.test(header(requestHeaders, 'accept')) && /html/i.test(mediaType(responseHeaders))
}

/** The media type of a response without its parameters; empty if it has none. */
export function mediaType (headers: unknown): string {
  return header(headers, 'content-type').split(';')[0]?.trim() ?? ''
}

function header (headers: unknown, name: string): string {
  const value = (Object(headers) as Data)[name]
  return typeof value === 'string' ? value : ''
}
