import Fastify, { type FastifyInstance } from 'fastify'
import { hindsight } from '../../src/hindsight.js'
import { assets } from '../../src/reading/pages/layout.js'
import { profilerPages } from '../../src/routes/profiler-pages.js'

export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** The paths of the profiler's routes with the methods that they declare; `token` is that of a profile. */
export async function profilerRoutes (token: string): Promise<Map<string, string[]>> {
  const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
  const methodsOf = new Map<string, string[]>()
  await app.register(hindsight, { debug: true, profiler: { storage: 'memory' } })
  app.addHook('onRoute', ({ url, method }) => {
    const path = url.replaceAll(/:(?:token|other)/g, token).replace(':name', assets[0]?.name ?? '').replace(':as', 'curl').replace(':format(^[a-z]+)', 'json')
      .replace(':format', 'curl').replace(/:code\(.*?\)(?=$|\.)/, '404').replaceAll('::', ':')
    const methods = methodsOf.get(path) ?? []
    methodsOf.set(path, [...methods, ...[method].flat().filter((one) => one !== 'HEAD' || [method].flat().length > 1)])
  })
  await app.register(profilerPages, {})
  await app.ready()
  await app.close()
  // The route of a token has any text in its place. It is declared before the routes of parts.
  for (const [path, methods] of methodsOf) {
    if (/^\/_wdt\/[^/]+$/.test(path)) methodsOf.set(path, [...METHODS])
    if (/^\/_profiler\/[^/]+$/.test(path) && !methods.includes('GET')) methods.unshift('GET')
  }
  return methodsOf
}

/** Sends a request over the network. The body of a stream that does not end is not read. */
export async function send (port: number, method: string, path: string, headers: Record<string, string> = {}) {
  const ending = new AbortController()
  const url = `http://127.0.0.1:${port}${path}`
  const response = await fetch(url, { method, redirect: 'manual', headers: { accept: 'text/html', ...headers }, signal: ending.signal })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const body = isStream && method === 'GET' ? '' : await response.text()
  ending.abort()
  return { url, status: response.status, headers: Object.fromEntries(response.headers), body }
}
