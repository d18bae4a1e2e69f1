import { relative, sep } from 'node:path'
import { packageOf } from '../errors/stack-frame.js'
import { hookOrigin } from '../recording/application-hooks.js'
import { isInternalHook, listenerOf } from '../recording/hooks.js'
import { methodsText, type DeclaredRoute, type Hook, type RouteTable } from '../routing/route-table.js'
import { hintFor } from '../similar-name.js'
import { presentItems, safeJson, visibleLine } from '../view/text.js'

/** Fastify's hooks and the handler, in the order of a request; the last three run only when something goes wrong. */
export const ORDER: readonly string[] = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler', 'handler', 'preSerialization', 'onSend', 'onResponse',
  'onError', 'onTimeout', 'onRequestAbort'
]

/** A hook, or the handler of a route. */
interface OrderedHook { stage: string, hook: string, place: string | null }

/** A route with its hooks and its handler in order. */
export interface RouteData {
  /** Method and URL. */
  route: string
  place: string | null
  hooks: OrderedHook[]
  /** What the route declares: JSON schemas by what they check. */
  schema: Record<string, unknown> | null
}

/**
 * The routes of an application that is ready, with lines of code and schemas: all, or those of a name, of which a
 * method and a pattern are enough. Throws for an unknown route.
 */
export function routesInOrder (
  table: Pick<RouteTable, 'routes' | 'hooksOf'>, wanted?: string
): RouteData[] {
  const named = table.routes.map((route) => ({ route, name: nameOf(route) }))
  const routes = named.filter(({ name }) => wanted === undefined || name === wanted || name.endsWith(` ${wanted}`))
  if (wanted !== undefined && routes.length === 0) {
    throw new Error(`There is no route "${wanted}".${hintFor(wanted, named.map(({ name }) => name))}`)
  }
  return routes.map(({ route, name }) => {
    const { declaredAt, pluginName, options } = route
    const { shown, source: place } = placeOf(declaredAt as Error, pluginName)
    const hooks = table.hooksOf(route).map((one) => one.addedAt === undefined
      ? { ...one, shown: ['route', ...shown], source: place }
      : { ...one, ...placeOf(one.addedAt, one.pluginName) })
    const all = [...hooks, { stage: 'handler', hook: options.handler as Hook, shown, source: place }]
    return {
      route: name,
      place,
      hooks: ORDER.flatMap((stage) => all.filter((one) => one.stage === stage)).flatMap((one) => {
        const hook = textOf(one.hook, one.shown)
        if (hook === null) return []
        return [{ stage: one.stage, hook, place: one.source }]
      }),
      schema: JSON.parse(safeJson(options.schema ?? null)) as RouteData['schema']
    }
  })
}

// Null for a hook of Hindsight that is not a listener: it is not part of the contract.
function textOf (hook: Hook, place: readonly string[]): string | null {
  if (isInternalHook(hook)) {
    const mark = listenerOf(hook)
    return mark && `${mark.stage} ${mark.listener}`
  }
  // A function without a name has that of its plugin or file.
  const [name = 'function', ...where] = [hook.name, ...place].filter((text) => text !== '')
  if (where.length === 0) return visibleLine(name)
  return visibleLine(`${name} (${where.join(', ')})`)
}

/**
 * Where a hook or a route was added: by the first call that is neither one of Hindsight nor of Fastify. `shown`: the
 * plugin and the file; `source`: `file:line`, relative to the working directory; null for code of packages.
 */
function placeOf (addedAt: Error, pluginName = ''): { shown: string[], source: string | null } {
  const { plugin, source } = hookOrigin(addedAt, pluginName)
  let place: string | null = null
  if (source !== undefined && packageOf(source) === null) place = relative(process.cwd(), source).split(sep).join('/')
  return { shown: presentItems([plugin, place?.replace(/:\d+$/, '')]), source: place }
}

function nameOf ({ methods, pattern }: DeclaredRoute): string {
  return visibleLine(`${methodsText(methods)} ${pattern}`)
}
