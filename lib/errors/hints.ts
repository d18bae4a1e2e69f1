import { extname } from 'node:path'
import type { FastifyRequest } from 'fastify'
import { MethodNotAllowedError } from '../http/http-errors.js'
import { pathnameOf } from '../http/request-target.js'
import { stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { nearMisses } from '../routing/tried-routes.js'
import type { RouteTable } from '../routing/route-table.js'
import { contextOf } from '../security/context.js'
import { wordFor } from '../view/counted.js'
import { declaredPlace } from './declared-place.js'
import { refusalOf } from './refusal.js'
import type { Hint, HintedRoute } from './report.js'
import { pluginOf, routeCode } from './route-code.js'
import { messageOf, read } from './thrown-value.js'

const HINTS_BY_CODE = new Map<unknown, Hint>([
  ['FST_ERR_CTP_BODY_TOO_LARGE', {
    title: 'The body is larger than allowed',
    text: 'Fastify accepts bodies of up to bodyLimit bytes, 1 MiB by default; a route may have its own limit:',
    code: "app.post('/…', { bodyLimit: 10 * 1024 * 1024 }, async (request, reply) => { … })\n"
  }],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', {
    title: 'No parser for this media type',
    text: 'Fastify parses application/json and text/plain. Plugins such as @fastify/formbody add others; or add one:',
    code: 'app.addContentTypeParser(\'application/…\', { parseAs: \'string\' }, ' +
      '(request, body, done) => { done(null, body) })\n'
  }],
  ['FST_ERR_MAX_PARAM_LENGTH', {
    title: 'A parameter of the path is longer than allowed',
    text: 'The router accepts parameters of up to routerOptions.maxParamLength characters, 100 by default.'
  }]
])

/** The hint for a code of Fastify's errors; null for other codes. */
export function hintOfCode (code: unknown): Hint | null {
  return HINTS_BY_CODE.get(code) ?? null
}

/** Hints for a failure; none where none is certain. */
export function hintsFor (request: FastifyRequest, status: number): Hint[] {
  const { raised, raisedBy, missed, route, reply } = stateOf(request)
  const known = hintOfCode(read(raised, 'code'))
  const refusal = refusalOf(request, reply, status, contextOf(request)?.record ?? null)
  // The refusal names the limit that applied, the hint all of them.
  if (known !== null) return [refusal === null ? known : { ...known, text: refusal.sentence }]
  if (refusal !== null && refusal.kind !== 'method') return [{ title: 'Why was this refused?', text: refusal.sentence }]
  if (raisedBy?.listener === 'request-validation' && messageOf(raised).startsWith('Untrusted Host ')) {
    return [{
      title: 'Is this host yours?',
      text: 'Only requests for the hosts of the option trustedHosts (TRUSTED_HOSTS) are accepted.'
    }]
  }
  // After `reply.callNotFound()` there is a route.
  if (route !== null || (missed === null && raisedBy?.listener !== 'router')) return []
  // In `observe` mode the status stays 404.
  if (status === 405 || missed instanceof MethodNotAllowedError) return methodNotAllowed(request)
  return status === 404 ? notFound(request) : []
}

function notFound (request: FastifyRequest): Hint[] {
  const { routeTable } = servicesOf(request)
  const path = pathnameOf(request)
  const { method } = request
  if (path === '/' && !routeTable.own().some(({ pattern }) => pattern === '/')) return [welcome(request)]
  const routes = nearRoutes(request)
  const missing = missingRoute(request, `No route for ${method} ${path}`)
  return routes.length === 0 ? missing : [similarRoutes(routes), ...missing]
}

/** The hint at routes that are nearly the requested one. */
export function similarRoutes (routes: HintedRoute[]): Hint {
  return {
    title: wordFor(routes.length, 'Similar route'),
    text: wordFor(routes.length, 'This route nearly matches.', 'These routes nearly match.'),
    routes
  }
}

function welcome (request: FastifyRequest): Hint {
  const hint = routeToPaste(request, 'To answer this request')
  const text = 'The application runs, and has no route for / yet. Every request has a profile: see /_profiler/.'
  return { title: 'Welcome to Hindsight', ...hint, text: hint === null ? text : `${text} ${hint.text}` }
}

function methodNotAllowed (request: FastifyRequest): Hint[] {
  const { method } = request
  const routes = nearRoutes(request).filter(({ why }) => why.startsWith('the method is '))
  const title = `The path has routes, but not for ${method}`
  return [
    ...(routes.length === 0 ? [] : [{ title, text: 'Is the method correct?', routes }]),
    ...missingRoute(request, `No route for ${method} on this path`)
  ]
}

function nearRoutes (request: FastifyRequest): HintedRoute[] {
  const wanted = { method: request.method, path: pathnameOf(request) }
  const { mask, routeTable } = servicesOf(request)
  return nearMisses(routeTable.own(), wanted).map(({ route, why, path }) => {
    const { methods, pattern, declaredAt } = route
    const source = declaredAt === null ? undefined : declaredPlace(declaredAt)?.source
    return {
      methods,
      pattern,
      why: mask.text(why),
      ...(path !== null && mask.text(path) === path && methods.includes('GET') && { path }),
      ...(source !== undefined && { source })
    }
  })
}

function missingRoute (request: FastifyRequest, title: string): Hint[] {
  const hint = routeToPaste(request, 'To declare it')
  return hint === null ? [] : [{ title, ...hint }]
}

/** A route that would answer the request, and where to add it; null where no such route can be written. */
function routeToPaste (request: FastifyRequest, purpose: string): Pick<Hint, 'text' | 'code'> | null {
  const { routeTable, mask, mode } = servicesOf(request)
  const path = pathnameOf(request)
  // A path with a secret in it does not become a pattern.
  if (mask.text(path) !== path) return null
  const typescript = usesTypeScript(routeTable)
  const route = routeCode(request.method, path, typescript)
  if (route === null) return null
  if (mode === 'observe') return { text: `${purpose}, add this route to your application:`, code: route.code }
  const file = `routes/${route.file}${typescript ? '.ts' : '.js'}`
  return { text: `${purpose}, save these lines as ${file}:`, code: pluginOf(route, typescript) }
}

// By the first route of the application; without one by the extension of this module.
function usesTypeScript (routeTable: RouteTable): boolean {
  const declaredAt = routeTable.own()[0]?.declaredAt ?? null
  const place = declaredAt === null ? null : declaredPlace(declaredAt)
  const file = place?.source.replace(/:\d+$/, '') ?? import.meta.url
  return ['.ts', '.mts', '.cts', '.tsx'].includes(extname(file))
}
