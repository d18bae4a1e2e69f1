import FindMyWay, { type HTTPMethod } from 'find-my-way'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import { pathnameOf } from '../http/request-target.js'
import { servicesOf } from '../lifecycle/services.js'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route's name, as logs and profiles give it; without one it is `<METHOD> <pattern>`. */
    name?: string
  }
}

declare module '../lifecycle/services.js' {
  interface Services {
    routeTable: RouteTable
  }
}

/** A route as it was declared. */
export interface DeclaredRoute {
  name: string
  methods: string[]
  pattern: string
  /** What a request needs beside its path: host, version, or what the application has added. */
  constraints: Readonly<Record<string, unknown>>
  /** A stack taken where the route was declared, in debug mode. */
  declaredAt: Error | null
  /** Whether the route has hooks of its own. */
  hasHooks: boolean
  /** Whether it has `preHandler` hooks of its own. */
  hasPreHandler: boolean
}

export interface LookupResult {
  /** The methods that routes declare for the path, in the order of declaration. */
  allowed: string[]
  /** The other trailing-slash form of the path, where it has a route for GET. */
  redirect: string | null
}

interface Entered {
  route: DeclaredRoute
  handler: unknown
  /** Whether Fastify adds a HEAD to it. */
  exposesHead: boolean
}

interface Store {
  route: DeclaredRoute
  order: number
  method: string
  /** Whether it is there for those only who may see the debug surface. */
  debugOnly: boolean
}

const ROUTE_HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend'] as const

/** The name of a route: its own, or its methods and pattern. */
export function routeName ({ config, method, url }: RouteOptions): string {
  return config?.name ?? `${([] as string[]).concat(method as string | string[]).join('|')} ${url}`
}

/** What the application's routes are, for those who explain why none of them matched. */
export class RouteTable {
  readonly #router
  readonly #routes = new Map<string, DeclaredRoute>()
  readonly #methods = new Set<string>()
  readonly #entered = new Map<string, Entered>()
  readonly #declared: DeclaredRoute[] = []
  readonly #exposesHead: boolean
  readonly #constraints = new Set<string>()
  #order = 0

  // Methods and patterns of several routes, which differ in their constraints.
  readonly #ambiguous = new Set<string>()

  constructor (app: FastifyInstance) {
    const config = app.initialConfig as unknown as Record<string, unknown>
    const options = { ...config, ...config.routerOptions as object } as Record<string, unknown>
    this.#exposesHead = config.exposeHeadRoutes !== false
    this.#router = FindMyWay({
      caseSensitive: options.caseSensitive !== false,
      ignoreTrailingSlash: options.ignoreTrailingSlash === true,
      ignoreDuplicateSlashes: options.ignoreDuplicateSlashes === true,
      maxParamLength: 16_384
    })
  }

  /** Takes a route in; to be called by an `onRoute` hook. */
  add (route: RouteOptions & { routePath?: string, prefix?: string }, declaredAt: Error | null): void {
    const methods = ([] as string[]).concat(route.method as string | string[])
    const { url } = route
    const constraints = route.constraints ?? {}
    const debugOnly = route.config?.debugOnly === true
    const constrained = JSON.stringify(Object.entries(constraints).map(([name, value]) => [name, String(value)]))
    const key = `${url} ${constrained}`
    // The wildcard route of @fastify/cors does not make a path exist.
    if (methods.length === 1 && methods[0] === 'OPTIONS' && (url === '*' || url === '/*')) return
    const isHead = methods.length === 1 && methods[0] === 'HEAD'
    const plain = isHead ? this.#entered.get(`GET ${key}`) : undefined
    // `/` below a prefix is two routes, with the slash and without: of the one with it hooks see the companion only.
    const get = plain ?? (isHead && route.routePath === '/' ? this.#entered.get(`GET ${route.prefix} ${constrained}`) : undefined)
    if (get?.exposesHead === true && get.handler === route.handler) {
      // Fastify's own companion of a GET route.
      this.#enter(`HEAD ${url}`, get.route)
      if (plain === undefined && route.prefixTrailingSlash !== 'no-slash') {
        for (const method of get.route.methods) this.#tryOn(method, url, constraints, { route: get.route, order: this.#order++, method, debugOnly })
      }
      this.#tryOn('HEAD', url, constraints, { route: get.route, order: -1, method: 'HEAD', debugOnly })
      return
    }
    const name = routeName(route)
    const declared: DeclaredRoute = { name, methods, pattern: url, constraints: { ...constraints }, declaredAt, hasHooks: ROUTE_HOOKS.some((hook) => route[hook] !== undefined), hasPreHandler: route.preHandler !== undefined }
    const entered: Entered = { route: declared, handler: route.handler, exposesHead: route.exposeHeadRoute ?? this.#exposesHead }
    this.#declared.push(declared)
    for (const method of methods) {
      this.#methods.add(method)
      this.#enter(`${method} ${url}`, declared)
      this.#entered.set(`${method} ${key}`, entered)
      for (const constraint of Object.keys(constraints)) this.#constraints.add(constraint)
      this.#tryOn(method, url, constraints, { route: declared, order: this.#order++, method, debugOnly })
    }
  }

  /** The route that a request matched. */
  of (request: FastifyRequest): DeclaredRoute | null {
    const key = `${request.method} ${request.routeOptions.url ?? ''}`
    const found = this.#ambiguous.has(key) ? this.#find(request.method, pathnameOf(request), this.#derive(request))?.route : undefined
    return found ?? this.#routes.get(key) ?? null
  }

  /** A route by method and pattern; of several that differ in their constraints, the last. */
  get (method: string, pattern: string): DeclaredRoute | null {
    return this.#routes.get(`${method} ${pattern}`) ?? null
  }

  #enter (key: string, declared: DeclaredRoute): void {
    const before = this.#routes.get(key)
    if (before !== undefined && before !== declared) this.#ambiguous.add(key)
    this.#routes.set(key, declared)
  }

  /** The application's own routes, in the order of declaration. */
  own (): DeclaredRoute[] {
    return this.#declared.filter(({ name }) => !name.startsWith('_'))
  }

  /** Looks a path up under every method. Who may not see what is for debugging is not told of it either. */
  lookup (path: string, request: FastifyRequest): LookupResult {
    const constraints = this.#derive(request)
    const found: Store[] = []
    for (const method of this.#methods) {
      const store = this.#find(method, path, constraints)
      if (isThere(store, request) && store.order >= 0) found.push(store)
    }
    const allowed = found.length === 0 ? [] : found.sort((a, b) => a.order - b.order).map(({ method }) => method)
    const other = path.endsWith('/') ? path.slice(0, -1) : `${path}/`
    const redirect = allowed.length === 0 && other !== '' && isThere(this.#find('GET', other, constraints), request) ? other : null
    return { allowed, redirect }
  }

  #find (method: string, path: string, constraints: Record<string, unknown>): Store | null {
    return this.#router.find(method as HTTPMethod, path, constraints)?.store as Store | undefined ?? null
  }

  #derive ({ headers }: FastifyRequest): Record<string, unknown> {
    if (this.#constraints.size === 0) return {}
    return { host: headers.host, version: headers['accept-version'] }
  }

  // The application's own router is the judge: what it lets through (a custom constraint, say) may be unknown here.
  #tryOn (method: string, url: string, constraints: object, store: Store): void {
    try {
      this.#router.on(method as HTTPMethod, url, { constraints: constraints as Record<string, unknown> }, () => {}, store)
    } catch {
      this.#methods.add(method)
    }
  }
}

function isThere (store: Store | null, request: FastifyRequest): store is Store {
  return store !== null && (!store.debugOnly || servicesOf(request).mayReadDebug(request))
}

/** Gives an application its route table, filled as routes are declared from here on. */
export function openRouteTable (app: FastifyInstance, debug: boolean): void {
  const table = new RouteTable(app)
  app.hindsight.routeTable = table
  app.addHook('onRoute', function enter (route) {
    table.add(route, debug ? new Error(`Route ${route.url} was declared here`) : null)
  })
}
