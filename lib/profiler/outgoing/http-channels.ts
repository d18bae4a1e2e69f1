import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { errorMonitor } from 'node:events'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Call } from './outgoing-log.js'
import { quietly, type Begin } from './undici-channels.js'

/** Listens to `node:http` and `node:https`; what is returned stops it. */
export function watchHttp (begin: Begin): () => void {
  const calls = new WeakMap<ClientRequest, Call>()

  // Newer versions of Node.js tell of a request when it is made; all of them when it has been written.
  function open ({ request }: { request: ClientRequest }): void {
    if (calls.has(request)) return
    const begun = begin()
    if (begun === null) return
    const call: Call = {
      via: 'http',
      method: request.method,
      url: '',
      startedAt: performance.now(),
      endedAt: 0,
      status: null,
      error: null,
      requestHeaders: () => request.getHeaders(),
      responseHeaders: () => ({})
    }
    calls.set(request, call)
    // The path and the headers of a request may still be changed; they are read when somebody asks.
    Object.defineProperty(call, 'url', { get: () => urlOf(request), enumerable: true })
    const added = begun(call, (name) => request.headersSent || request.hasHeader(name))
    if (!request.headersSent) for (const [name, value] of Object.entries(added ?? {})) request.setHeader(name, value)
    request.once(errorMonitor, (error) => {
      call.error = error
      call.endedAt = performance.now()
    })
  }

  function answer ({ request, response }: { request: ClientRequest, response: IncomingMessage }): void {
    const call = calls.get(request)
    if (call === undefined) return
    call.status = response.statusCode ?? null
    call.responseHeaders = () => response.headers
    response.once('close', () => { call.endedAt = performance.now() })
  }

  const guarded = [
    ['http.client.request.created', quietly(open)],
    ['http.client.request.start', quietly(open)],
    ['http.client.response.finish', quietly(answer)]
  ] as const
  for (const [channel, handler] of guarded) subscribe(channel, handler)
  return () => { for (const [channel, handler] of guarded) unsubscribe(channel, handler) }
}

function urlOf (request: ClientRequest): string {
  const host = request.getHeader('host') ?? request.host
  return `${request.protocol}//${String(host)}${request.path}`
}
