import { relative, sep } from 'node:path'
import { declaredPlace } from '../../lib/errors/declared-place.js'
import { visibleLine } from '../../lib/view/visible.js'
import { CommandError } from '../command.js'
import { ORDER, type ApplicationStep, type RouteOrder, type Step } from './hook-order.js'

const MAX_LISTED = 20

/** The routes of an application, and the mode in which it was loaded. */
export interface Contract {
  /** Null when the application does not have Hindsight. */
  debug: boolean | null
  routes: readonly RouteOrder[]
  /** All methods of the application: a route that has all of them is shown as `ANY`. */
  supported: readonly string[]
}

/**
 * The routes to print: all that the application declares, or the named one. Throws a `CommandError` when no route has
 * that name.
 */
export function wantedRoutes (
  routes: readonly RouteOrder[], supported: readonly string[], named?: string
): RouteOrder[] {
  if (named === undefined) return routes.filter(({ isOurs, isImplied }) => !isOurs && !isImplied)
  const [, method = '', url = ''] = /^\s*(\S+)\s+(\S.*?)\s*$/.exec(named) ?? []
  const wanted = method.toUpperCase()
  const found = routes.filter(({ methods, url: known }) =>
    known === url && (methods.includes(wanted) || methodsOf(methods, supported) === wanted))
  if (found.length > 0) return found
  const known = wantedRoutes(routes, supported).map(({ methods, url }) => `${methodsOf(methods, supported)} ${url}`)
  if (known.length === 0) throw new CommandError(`--route: there is no route "${named}"; the application has none.`)
  const more = known.length > MAX_LISTED ? ` and ${known.length - MAX_LISTED} more` : ''
  const list = known.slice(0, MAX_LISTED).join(', ')
  throw new CommandError(`--route: there is no route "${named}"; there are ${list}${more}.`)
}

/** The order of each route as text. It has no line numbers and no files of packages: it changes only with the order. */
export function contractLines ({ debug, routes, supported }: Contract): string[] {
  const lines = [`Lifecycle ${modeOf(debug)}`]
  for (const route of routes) {
    lines.push('', visibleLine(routeTitle(route, supported)))
    for (const hook of ORDER) {
      const steps = route.steps.filter((step) => step.hook === hook)
      if (steps.length > 0) lines.push(`  ${hook}`, ...steps.map((step) => `    ${visibleLine(stepText(step))}`))
    }
  }
  return lines
}

/** The same as data, with `file:line` of each hook and with the listeners that do not run. */
export function contractData ({ debug, routes }: Contract): object {
  return {
    mode: debug === null ? null : debug ? 'debug' : 'production',
    routes: routes.map(({ methods, url, constraints, steps, idle }) => ({
      methods,
      url,
      ...(Object.keys(constraints).length > 0 && { constraints: asStrings(constraints) }),
      steps: steps.map(stepData),
      idle
    }))
  }
}

function modeOf (debug: boolean | null): string {
  return debug === null ? 'without fastify-hindsight' : debug ? 'in debug mode' : 'in production mode'
}

function methodsOf (methods: readonly string[], supported: readonly string[]): string {
  return supported.every((method) => methods.includes(method)) ? 'ANY' : methods.join('|')
}

function routeTitle ({ methods, url, constraints }: RouteOrder, supported: readonly string[]): string {
  const title = `${methodsOf(methods, supported)} ${url}`
  return Object.keys(constraints).length === 0 ? title : `${title} ${JSON.stringify(asStrings(constraints))}`
}

// A constraint may be a regular expression, which JSON cannot express.
function asStrings (constraints: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(constraints).map(([name, value]) => [name, String(value)]))
}

function stepData (step: Step): object {
  if ('stage' in step) return step
  const { plugin, source } = placeOf(step)
  return {
    hook: step.hook,
    name: nameOf(step),
    ...(plugin !== null && { plugin }),
    ...(step.ofRoute && { route: true }),
    ...(source !== null && { source })
  }
}

function stepText (step: Step): string {
  if ('stage' in step) return `${step.stage} ${step.listener}`
  const { plugin, source, isPackage } = placeOf(step)
  const about: string[] = []
  if (step.ofRoute && step.hook !== 'handler') about.push('route')
  if (plugin !== null) about.push(plugin)
  if (source !== null && !isPackage) about.push(fileOf(source))
  return about.length === 0 ? nameOf(step) : `${nameOf(step)} (${about.join(', ')})`
}

function nameOf ({ name }: ApplicationStep): string {
  return name === '' ? 'anonymous' : name
}

interface Place {
  plugin: string | null
  source: string | null
  isPackage: boolean
}

// A hook is of the package whose file added it; for a file of the application, of the plugin of the instance.
function placeOf ({ plugin, addedAt }: ApplicationStep): Place {
  const place = addedAt === null ? null : declaredPlace(addedAt)
  const name = place?.package ?? null
  return { plugin: name ?? plugin, source: place?.source ?? null, isPackage: name !== null }
}

function fileOf (source: string): string {
  return relative(process.cwd(), source.replace(/:\d+$/, '')).split(sep).join('/')
}
