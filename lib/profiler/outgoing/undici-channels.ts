import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Call } from './outgoing-log.js'

/** What undici tells of a request; `fetch` of Node.js is the same. */
interface UndiciRequest {
  origin?: unknown
  path?: unknown
  method?: unknown
  /** Names and values in turn; in older versions the text that goes over the wire. */
  headers?: unknown
  addHeader?: (name: string, value: string) => unknown
}

/** Takes a request in that is about to go out; what it answers is added to the headers. */
export type Begun = (call: Call, hasHeader: (name: string) => boolean) => Readonly<Record<string, string>> | null

/** Asked for each request that is about to go out; null where nobody wants to know of it. */
export type Begin = () => Begun | null

/** Listens to undici and to `fetch`; what is returned stops it. */
export function watchUndici (begin: Begin): () => void {
  const calls = new WeakMap<object, Call>()
  const ended = ({ request }: { request: object }): void => {
    const call = calls.get(request)
    if (call !== undefined) call.endedAt = performance.now()
  }
  const handlers: Record<string, (message: never) => void> = {
    create ({ request }: { request: UndiciRequest }) {
      const begun = begin()
      if (begun === null) return
      const call: Call = {
        via: 'undici',
        method: String(request.method),
        url: `${String(request.origin)}${String(request.path)}`,
        startedAt: performance.now(),
        endedAt: 0,
        status: null,
        error: null,
        requestHeaders: () => headersOf(request.headers),
        responseHeaders: () => ({})
      }
      const added = begun(call, (name) => Object.hasOwn(headersOf(request.headers), name))
      for (const [name, value] of Object.entries(added ?? {})) request.addHeader?.(name, value)
      calls.set(request, call)
    },
    headers ({ request, response }: { request: object, response: { statusCode: number, headers: unknown } }) {
      const call = calls.get(request)
      if (call === undefined) return
      call.status = response.statusCode
      call.responseHeaders = () => headersOf(response.headers)
    },
    trailers: ended,
    error ({ request, error }: { request: object, error: unknown }) {
      ended({ request })
      const call = calls.get(request)
      if (call !== undefined) call.error = error
    }
  }
  const guarded = Object.entries(handlers).map(([name, handler]) => [`undici:request:${name}`, quietly(handler)] as const)
  for (const [channel, handler] of guarded) subscribe(channel, handler)
  return () => { for (const [channel, handler] of guarded) unsubscribe(channel, handler) }
}

/** What is thrown to a channel becomes an uncaught exception: an observer says nothing instead. */
export function quietly (handler: (message: never) => void): (message: unknown) => void {
  return (message) => {
    try {
      handler(message as never)
    } catch {}
  }
}

function headersOf (headers: unknown): Record<string, string | string[]> {
  const flat = Array.isArray(headers) ? headers.map(String) : typeof headers === 'string' ? headers.split('\r\n').flatMap(split) : []
  const found: Record<string, string | string[]> = {}
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const name = (flat[i] as string).toLowerCase()
    const known = found[name]
    found[name] = known === undefined ? flat[i + 1] as string : [known, flat[i + 1] as string].flat()
  }
  return found
}

function split (line: string): string[] {
  const colon = line.indexOf(':')
  return colon < 1 ? [] : [line.slice(0, colon), line.slice(colon + 1).trim()]
}
