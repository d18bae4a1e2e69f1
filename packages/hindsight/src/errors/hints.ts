import { pathnameOf, percentDecoded } from '../http/requests.js'
import { MethodNotAllowedError } from '../http/http-errors.js'
import type { RequestTrace, Services } from '../recording/trace.js'
import type { Mask } from '../mask/mask.js'
import { extension } from '../require.js'
import { patternMatches } from '../routing/route-pattern.js'
import type { DeclaredRoute } from '../routing/route-table.js'
import { nearestRoutes } from '../routing/no-match.js'
import { formatInteger, wordFor } from '../view/text.js'
import { declaredPlace } from './declared-place.js'
import { refusalOf } from './refusal.js'

const WELCOME = 'The application runs, and has no route for / yet. '
const RESTART = 'It must be restarted after each change: npm run dev does that, and npm start does not. '
const PROFILES: HintedRoute = {
  methods: ['GET'], pattern: '/_profiler/', path: '/_profiler/', why: 'shows the profile of every request.'
}

type NearestRoutes = ReturnType<typeof nearestRoutes>

/** The hints for a failure; empty if no hint is certain. */
export function hintsFor (trace: RequestTrace, status: number): Hint[] {
  const { recording: { raisedBy, routeError }, route } = trace
  const refusal = refusalOf(trace, status)
  if (refusal !== null && refusal.kind !== 'method') return [{ title: 'Why was this refused?', text: refusal.sentence }]
  // After `reply.callNotFound()` there is a route.
  if (route !== null || (routeError === null && raisedBy?.listener !== 'router')) return []
  // Without a lifecycle the status stays 404.
  if (status === 405 || routeError instanceof MethodNotAllowedError) return methodNotAllowed(trace)
  if (status === 404) return notFound(trace)
  return []
}

function notFound (trace: RequestTrace): Hint[] {
  const { request, services } = trace
  const { routeTable, lifecycle } = services
  const path = pathnameOf(request)
  if (path === '/' && !routeTable.routes.some(({ pattern }) => pattern === '/')) {
    const about = lifecycle === null ? WELCOME : WELCOME + RESTART
    const purpose = `${about}To answer this request`
    const welcome = routeToPaste(trace, purpose, 'Welcome to Hindsight')
    if (services.hasProfiles) return welcome.map((hint) => ({ ...hint, routes: [PROFILES] }))
    return welcome
  }
  const near = nearestRoutes(trace)
  const routes = hintedRoutes(near, trace.mask)
  const hints = [...otherRoutes(near, services), ...routeToPaste(trace)]
  if (routes.length > 0) hints.unshift(similarRoutes(routes))
  return hints
}

/** The first routes of the application that are not similar to the requested one. */
function otherRoutes (nearest: NearestRoutes, services: Services): Hint[] {
  const { routes: all } = services.routeTable
  const near = new Set(nearest.map(({ route }) => route))
  // Of thousands of routes, only the first are looked at.
  const shown = all.slice(0, MAX_ROUTES + near.size).filter((route) => !near.has(route)).slice(0, MAX_ROUTES)
  const routes = shown.map((route) => {
    const isLink = route.methods.includes('GET') && !/[:*]/.test(route.pattern)
    return { ...routeFact(route), why: '', ...(isLink && { path: route.pattern }) }
  })
  const count = all.length - near.size
  const text = count > MAX_ROUTES ? `The first ${MAX_ROUTES} of ${formatInteger(count)}.` : ''
  const pattern = `${services.base}/_profiler/routes`
  const title = near.size === 0 ? 'Routes' : 'Other routes'
  if (routes.length === 0) return []
  const list = { methods: ['GET'], pattern, path: pattern, why: 'lists all with their hooks.' }
  if (services.hasProfiles) routes.push(list)
  return [{ title, text, routes }]
}

function routeFact ({ methods, pattern, declaredAt }: DeclaredRoute) {
  // The line of a framework that declares all routes is not the place of this one.
  const { source, package: owner } = (declaredAt && declaredPlace(declaredAt)) ?? {}
  return { methods, pattern, ...(source !== undefined && owner === null && { source }) }
}

/** The hint at routes that are nearly the requested one. */
export function similarRoutes (routes: HintedRoute[]): Hint {
  return {
    title: wordFor(routes.length, 'Similar route'),
    text: '',
    routes
  }
}

function methodNotAllowed (trace: RequestTrace): Hint[] {
  const { method } = trace.request
  const routes = hintedRoutes(nearestRoutes(trace), trace.mask).filter(({ why }) => why.startsWith('the method is '))
  const title = `The path has routes, but not for ${method}`
  const hints = routeToPaste(trace)
  if (routes.length > 0) hints.unshift({ title, text: 'Is the method correct?', routes })
  return hints
}

function hintedRoutes (nearest: NearestRoutes, mask: Mask): HintedRoute[] {
  return nearest.map(({ route, why, path }) => {
    const isLink = path !== null && mask.text(path) === path && route.methods.includes('GET')
    return { ...routeFact(route), why: mask.text(why), ...(isLink && { path }) }
  })
}

/** A route that would answer the request, and where to add it; none where no such route can be written. */
function routeToPaste (
  { request, mask, services }: RequestTrace, purpose = 'To answer this request', title = 'Add a route'
): Hint[] {
  const { lifecycle, routeTable: { routes } } = services
  const path = pathnameOf(request)
  // In a Nest application controllers have the routes.
  const isOfNest = [routes[0], routes.at(-1)].some((route) =>
    route?.declaredAt != null && declaredPlace(route.declaredAt)?.package?.startsWith('@nestjs/') === true)
  if (isOfNest) return []
  // A path with a secret in it does not become a pattern.
  if (mask.text(path) !== path) return []
  const route = routeCode(request.method, path)
  if (route === null) return []
  if (lifecycle === null) {
    return [{ title, text: `${purpose}, add this route to your application:`, code: route.code }]
  }
  // The service runs its sources, which are TypeScript.
  const isTyped = extension === '.ts'
  const file = `${lifecycle.routesFolder}/${route.file}${isTyped ? '.ts' : '.js'}`
  return [{ title, text: `${purpose}, save these lines as ${file}:`, code: pluginOf(route, isTyped) }]
}

/** The methods that a Fastify instance has a function for. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'])
/** Numbers, UUIDs and other long hexadecimal strings with a digit. */
const IDENTIFIER = /^(?:\d+|(?=.*\d)[\da-f-]{12,})$/i
const NEEDS_ESCAPES = /['\\\p{C}\u2028\u2029]/u
const MAX_PATH = 200
const MAX_ROUTES = 20

/** The source of a route. */
export interface RouteCode {
  /** A name for its file, without extension. */
  file: string
  /** The call that declares it, of the instance `app`. */
  code: string
}

/**
 * Writes a route that matches a path: segments that look like identifiers become parameters, and all other segments
 * become part of a string literal. Null where the router would not match the path, or where it needs escapes.
 */
export function routeCode (method: string, path: string): RouteCode | null {
  const decoded = percentDecoded(path)
  if (decoded === null || NEEDS_ESCAPES.test(decoded) || path.length > MAX_PATH || !METHODS.has(method)) return null
  let parameters = 0
  const pattern = decoded.split('/').map((segment) => {
    if (!IDENTIFIER.test(segment)) return segment.replaceAll(':', '::')
    parameters++
    if (parameters === 1) return ':id'
    return `:id${parameters}`
  }).join('/')
  // A pattern without a wildcard matches the same path.
  if ((pattern !== path || path.includes('*')) && !patternMatches(pattern, method, path)) return null
  return {
    file: /^\/([a-z][\w-]*)/i.exec(decoded)?.[1]?.toLowerCase() ?? 'home',
    code: `app.${method.toLowerCase()}('${pattern}', async (request, reply) => {
  return ${parameters === 0 ? "{ hello: 'world' }" : 'request.params'}
})
`
  }
}

/** The source of a plugin with a route, for the folder that the service loads. */
export function pluginOf ({ code }: RouteCode, typescript: boolean): string {
  const body = code.replace(/^(?=.)/gm, '  ')
  if (!typescript) return `export default async function routes (app) {\n${body}}\n`
  return `import type { FastifyInstance } from 'fastify'

export default async function routes (app: FastifyInstance) {
${body}}
`
}

/** A remark that helps to fix the failure; given only where it is certain. */
export interface Hint {
  title: string
  /** Who wrote what it quotes; default: the code of the application. */
  from?: string
  text: string
  /** Source to paste, or a statement that failed. */
  code?: string
  /** The language of the source; default: TypeScript. */
  language?: string
  /** The place of the error: an offset in the source. */
  mark?: number
  /** The place in the application, `file:line`. */
  source?: string
  /** What happened before, each with its place, `file:line`, and the address of the profile of a called server. */
  steps?: Array<{ code: string, text: string, source?: string, profile?: string }>
  /** Whether it is of less weight than the differences from the last success. */
  isBackground?: boolean
  /** Routes that nearly matched, and why they did not; or that help. */
  routes?: HintedRoute[]
}

/** A route that is nearly the requested one. */
interface HintedRoute {
  methods: string[]
  pattern: string
  why: string
  /** The path that the route would have for this request. */
  path?: string
  /** Where the route was declared, `file:line`. */
  source?: string
}
