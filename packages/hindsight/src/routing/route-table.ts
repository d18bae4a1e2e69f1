import FindMyWay, { type HTTPMethod } from 'find-my-way'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { attemptCall } from '../call.js'
import { pathnameOf, pathOf } from '../http/requests.js'
import { patternSegments } from './route-pattern.js'

/** The `config` of a route. */
export type RouteConfig = FastifyRequest['routeOptions']['config'] & RecordedConfig

/** What a route may declare in its `config`. The interface of Fastify is for the names of the application. */
export interface RecordedConfig {
  /** The name of the route in logs and profiles; by default `<METHOD> <pattern>`. */
  name?: string
  /** False: requests of this route are not profiled; `failures`: those with a status below 400 are not. */
  profile?: boolean | 'failures'
  /** True: the route exists only for clients that may see the debug surface. */
  debugOnly?: boolean
  /** True: a route that is `debugOnly` itself refuses pages of other sites. */
  checksOrigin?: boolean
  /** True: the route answers only requests by TLS. */
  httpsOnly?: boolean
}

/** The route that matched a request. */
export interface RouteMatch {
  name: string
  pattern: string
  params: Record<string, unknown>
}

/** What the route of a request declares; undefined where it has no route of any kind. */
export function routeConfigOf (request: FastifyRequest): RouteConfig | undefined {
  return request.routeOptions.config as RouteConfig | undefined
}

/**
 * Whether a hook of an instance runs for the requests of a scope: that has the hooks of the instances around it, which
 * are its prototypes, those that were added later included.
 */
export function appliesIn (instance: FastifyInstance, scope: FastifyInstance): boolean {
  return instance === scope || Object.prototype.isPrototypeOf.call(instance, scope)
}

/** A route as it was declared. */
export interface DeclaredRoute {
  name: string
  methods: string[]
  pattern: string
  segments: readonly string[]
  /** Conditions besides method and path: host, version, or a constraint of the application. */
  constraints: Readonly<Record<string, unknown>>
  /** A stack taken where the route was declared, in debug mode. */
  declaredAt: Error | null
  /** The names of the route's own hooks. */
  hooks: readonly string[]
  /** Where it was declared, and the name of the instance at this time. */
  instance: FastifyInstance
  pluginName: string
  /** What it was declared with. */
  options: Readonly<Partial<Record<typeof ALL_HOOKS[number] | 'handler' | 'schema', unknown>>> &
    { errorHandler?: object }
}

/** A function that an application has added as a hook. */
export type Hook = (...args: never[]) => unknown

/** A hook of an instance, in debug mode. */
interface InstanceHook {
  instance: FastifyInstance
  stage: string
  hook: Hook
  addedAt: Error
  /** The name of the instance at this time. */
  pluginName: string
}

/** A route of one method, as the router finds it. */
interface Entry {
  route: DeclaredRoute
  method: string
  handler: unknown
  /** The order of declaration; -1 for a HEAD that Fastify has added. */
  order: number
  /** Whether the route exists only for clients that may see the debug surface. */
  debugOnly: boolean
  httpsOnly: boolean
}

type AddedRoute = RouteOptions & { routePath?: string, prefix?: string }

const ROUTE_HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend'] as const
/** The same with those that do not change the response. */
const ALL_HOOKS = [...ROUTE_HOOKS, 'onError', 'onTimeout', 'onRequestAbort', 'onResponse'] as const

/** The methods of a route that is named `ALL`; a version of Fastify may have others beside them. */
const ALL_METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT']

/**
 * The name of a route: its own, or its methods and pattern, `ALL /files/*` for `app.all()`. The application may
 * have other values of that name.
 */
export function routeName ({ config, method, url }: RouteOptions): string {
  const { name } = (config ?? {}) as { name?: unknown }
  if (typeof name === 'string') return name
  return `${methodsText([method].flat())} ${url}`
}

/** The methods of a route, `GET|POST`; `ALL` where all of `ALL_METHODS` are among them. */
export function methodsText (methods: readonly string[]): string {
  if (ALL_METHODS.every((one) => methods.includes(one))) return 'ALL'
  return methods.join('|')
}

/** The options of the router, which Fastify also takes at the top level. */
export function routerOptionsOf ({ initialConfig }: FastifyInstance): Readonly<Record<string, unknown>> {
  return { ...initialConfig, ...(initialConfig as { routerOptions?: object }).routerOptions }
}

/** The routes of an application, in a router of Hindsight: why no route matched is not available from Fastify's. */
export class RouteTable {
  /** The application, and in debug mode the instances of its encapsulated plugins. */
  readonly scopes: FastifyInstance[] = []
  readonly #routerOptions
  #router: ReturnType<typeof FindMyWay> | undefined
  /** The routes that the router does not have yet: most applications of a test suite never search them. */
  #added: Array<{ url: string, constraints: object, entry: Entry }> = []
  /** The application's own routes, in the order of declaration. */
  readonly routes: DeclaredRoute[] = []
  /** The hooks of the application, in the order in which Fastify has added them. */
  readonly hooks: InstanceHook[] = []
  /** By method, pattern and constraints; by method and pattern alone the last of several. */
  readonly #entries = new Map<string, Entry>()
  readonly #methods = new Set<string>()
  #hasConstraints = false
  #order = 0

  constructor (app: FastifyInstance) {
    const options = routerOptionsOf(app)
    this.#routerOptions = {
      caseSensitive: options.caseSensitive !== false,
      ignoreTrailingSlash: options.ignoreTrailingSlash === true,
      ignoreDuplicateSlashes: options.ignoreDuplicateSlashes === true,
      maxParamLength: 16_384
    }
  }

  /** Adds the routes that an application declares from now on. `debug`: with the stacks of their declarations. */
  observe (app: FastifyInstance, debug: boolean): void {
    const add = this.add.bind(this)
    const { scopes } = this
    scopes.push(app)
    if (debug) app.addHook('onRegister', function addScope (scope) { scopes.push(scope) })
    app.addHook('onRoute', function addRoute (route) {
      add(route, debug, this)
    })
  }

  /** Adds a route; to be called by an `onRoute` hook. `debug`: with the stack of its declaration. */
  add (route: AddedRoute, debug: boolean, instance: FastifyInstance): void {
    const methods = ([] as string[]).concat(route.method as string | string[])
    const { url } = route
    const constraints = route.constraints ?? {}
    // The route `OPTIONS *` of @fastify/cors does not make a path exist.
    if (methods.join() === 'OPTIONS' && (url === '*' || url === '/*')) return
    const suffix = ` ${JSON.stringify(Object.entries(constraints).map(([name, value]) => [name, String(value)]))}`
    if (methods.join() === 'HEAD' && this.#addImpliedHead(route, suffix)) return
    const declared: DeclaredRoute = {
      name: routeName(route),
      methods,
      pattern: url,
      segments: patternSegments(url),
      constraints: { ...constraints },
      declaredAt: debug ? new Error(`Route ${url} was declared here`) : null,
      hooks: ROUTE_HOOKS.filter((hook) => route[hook] !== undefined),
      instance,
      pluginName: instance.pluginName,
      options: route
    }
    const { debugOnly = false, httpsOnly = false } = (route.config ?? {}) as RecordedConfig
    if (Object.keys(constraints).length > 0) this.#hasConstraints = true
    if (!declared.name.startsWith('_')) this.routes.push(declared)
    for (const method of methods) {
      const order = this.#order++
      const { handler } = route
      const entry: Entry = { route: declared, method, handler, order, debugOnly, httpsOnly }
      this.#methods.add(method)
      for (const key of [`${method} ${url}`, `${method} ${url}${suffix}`]) this.#entries.set(key, entry)
      this.#added.push({ url, constraints, entry })
    }
  }

  /** Adds the HEAD route that Fastify adds to a GET route, with its handler; false for another one. */
  #addImpliedHead (route: AddedRoute, suffix: string): boolean {
    const { url, constraints = {} } = route
    const add = (entry: Entry): void => { this.#added.push({ url, constraints, entry }) }
    const declared = this.#entries.get(`GET ${url}${suffix}`)
    let get = declared
    // `/` below a prefix is two routes, with a slash and without. Of one of them only the HEAD route calls `onRoute`.
    if (route.routePath === '/') get ??= this.#entries.get(`GET ${route.prefix}${suffix}`)
    if (get === undefined || get.handler !== route.handler) return false
    this.#entries.set(`HEAD ${url}`, get)
    if (declared === undefined && route.prefixTrailingSlash !== 'no-slash') {
      for (const method of get.route.methods) add({ ...get, method, order: this.#order++ })
    }
    add({ ...get, method: 'HEAD', order: -1 })
    return true
  }

  #routerWithAll () {
    const router = (this.#router ??= FindMyWay(this.#routerOptions))
    for (const { url, constraints, entry } of this.#added.splice(0)) {
      // A custom constraint is unknown to this router: the application's own decides.
      attemptCall(() => router.on(entry.method as HTTPMethod, url, { constraints }, () => {}, entry))
    }
    return router
  }

  /** Adds a hook that an instance adds, in the order of Fastify: when its queue reaches the hook. In debug mode. */
  addHook (instance: FastifyInstance, stage: string, hook: unknown): void {
    const { pluginName } = instance
    const added = { instance, stage, hook: hook as Hook, addedAt: new Error('Added here'), pluginName }
    // Without arguments, the callback leaves an error of the queue to Fastify.
    instance.after(() => { this.hooks.push(added) })
  }

  /** The hooks of a route in order; those that it declares itself have no `addedAt`. */
  hooksOf ({ instance, options }: DeclaredRoute): Array<Pick<InstanceHook, 'stage' | 'hook'> & Partial<InstanceHook>> {
    return ALL_HOOKS.flatMap((stage) => [
      ...this.hooks.filter((hook) => hook.stage === stage && appliesIn(hook.instance, instance)),
      ...[options[stage] ?? []].flat().map((hook) => ({ stage, hook: hook as Hook }))
    ])
  }

  /** The route that a request matched; `match` has it after `reply.callNotFound()`. */
  of (request: FastifyRequest, match: RouteMatch | null = null): DeclaredRoute | null {
    const { method, routeOptions } = request
    const url = routeOptions.url ?? match?.pattern ?? ''
    const found = this.#hasConstraints && this.#find(method, pathnameOf(request), request)
    if (found) return found.route
    return this.#entries.get(`${method} ${url}`)?.route ?? null
  }

  /** The route that a request matched, by its name; null where none did. */
  matchOf (request: FastifyRequest): RouteMatch | null {
    const { url: pattern } = request.routeOptions
    if (pattern === undefined) return null
    const name = this.of(request)?.name ?? routeConfigOf(request)?.name ?? `${request.method} ${pattern}`
    return { name, pattern, params: request.params as Record<string, unknown> }
  }

  /** The route with a method and the pattern of the last one with this pattern, which Fastify has refused. */
  firstWith (pattern: string): DeclaredRoute | undefined {
    const last = this.routes.findLast((route) => route.pattern === pattern)
    const router = this.#routerWithAll()
    const found = last?.methods.map((method) => router.findRoute(method as HTTPMethod, pattern, last.constraints))
    return found?.map((one) => (one?.store as Entry | undefined)?.route)
      .find((route) => route !== undefined && route !== last)
  }

  /**
   * The methods of a path, in order of declaration, and its other trailing-slash form if only that has a GET route.
   * `seesDebug`: with the routes that exist only for clients that may see the debug surface.
   */
  lookup (path: string, request: FastifyRequest, seesDebug: boolean) {
    const found: Entry[] = []
    for (const method of this.#methods) {
      const entry = this.#findVisible(method, path, request, seesDebug)
      if (entry !== null && entry.order >= 0) found.push(entry)
    }
    const allowed = found.sort((a, b) => a.order - b.order).map(({ method }) => method)
    const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`
    const match = allowed.length === 0 && other !== '' ? this.#findVisible('GET', other, request, seesDebug) : null
    return { allowed, redirect: match && { path: other, httpsOnly: match.httpsOnly } }
  }

  /** The path parameters of a URL as the routes of the application name them; empty if it has no route. */
  paramsOf (url: string, request: FastifyRequest): Record<string, unknown> {
    const found = [...this.#methods].map((method) => this.#match(method, pathOf(url), request))
      .filter((match) => match !== null && !(match.store as Entry).debugOnly)
    return Object.assign({}, ...found.map((match) => match?.params)) as Record<string, unknown>
  }

  #findVisible (method: string, path: string, request: FastifyRequest, seesDebug: boolean): Entry | null {
    const match = this.#find(method, path, request)
    if (match?.debugOnly === true && !seesDebug) return null
    return match
  }

  #find (method: string, path: string, request: FastifyRequest): Entry | null {
    return this.#match(method, path, request)?.store as Entry | undefined ?? null
  }

  #match (method: string, path: string, { headers }: FastifyRequest) {
    const constraints = this.#hasConstraints ? { host: headers.host, version: headers['accept-version'] } : {}
    return this.#routerWithAll().find(method as HTTPMethod, path, constraints)
  }
}
