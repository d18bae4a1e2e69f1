import { relative, sep } from 'node:path'
import { declaredPlace } from '../../lib/errors/declared-place.js'
import { visibleLine } from '../../lib/view/visible.js'
import { CommandError } from '../command.js'
import { ORDER, type RouteOrder, type Step } from './hook-order.js'

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
export function selectRoutes (
  routes: readonly RouteOrder[], supported: readonly string[], named?: string
): RouteOrder[] {
  const declared = routes.filter(({ isOurs, isImplied }) => !isOurs && !isImplied)
  if (named === undefined) return declared
  const [, method = '', url = ''] = /^\s*(\S+)\s+(\S.*?)\s*$/.exec(named) ?? []
  const wanted = method.toUpperCase()
  const found = routes.filter((route) =>
    route.url === url && (route.methods.includes(wanted) || methodsOf(route, supported) === wanted))
  if (found.length > 0) return found
  const names = declared.map((route) => `${methodsOf(route, supported)} ${route.url}`)
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more` : ''
  const list = `there are ${names.slice(0, MAX_LISTED).join(', ')}${more}`
  throw new CommandError(`--route: there is no route "${named}"; ${names.length === 0 ? 'there are none' : list}.`)
}

/** The order of each route as text. It has no line numbers and no files of packages: it changes only with the order. */
export function contractLines ({ debug, routes, supported }: Contract): string[] {
  const mode = debug === null ? 'without fastify-hindsight' : `in ${modeOf(debug)} mode`
  const lines = [`Lifecycle ${mode}`]
  for (const route of routes) {
    const constraints = constraintsOf(route)
    const suffix = constraints === null ? '' : ` ${JSON.stringify(constraints)}`
    lines.push('', visibleLine(`${methodsOf(route, supported)} ${route.url}${suffix}`))
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
    mode: debug === null ? null : modeOf(debug),
    routes: routes.map((route) => {
      const { methods, url, steps, idle } = route
      const constraints = constraintsOf(route)
      return { methods, url, ...(constraints !== null && { constraints }), steps: steps.map(stepData), idle }
    })
  }
}

function modeOf (debug: boolean): string {
  return debug ? 'debug' : 'production'
}

function methodsOf ({ methods }: RouteOrder, supported: readonly string[]): string {
  return supported.every((method) => methods.includes(method)) ? 'ANY' : methods.join('|')
}

// A constraint may be a regular expression, which JSON cannot express.
function constraintsOf ({ constraints }: RouteOrder): Record<string, string> | null {
  const entries = Object.entries(constraints).map(([name, value]) => [name, String(value)])
  return entries.length === 0 ? null : Object.fromEntries(entries)
}

function stepData (step: Step): object {
  const { hook, stage, ofRoute } = step
  if (stage !== null) return { hook, stage, listener: step.name }
  const { name, plugin, source } = describe(step)
  return {
    hook, name, ...(plugin !== null && { plugin }), ...(ofRoute && { route: true }), ...(source !== null && { source })
  }
}

function stepText (step: Step): string {
  if (step.stage !== null) return `${step.stage} ${step.name}`
  const { name, plugin, source, isPackage } = describe(step)
  const about = [
    ...step.ofRoute && step.hook !== 'handler' ? ['route'] : [],
    ...plugin === null ? [] : [plugin],
    ...source === null || isPackage ? [] : [relative(process.cwd(), source.replace(/:\d+$/, '')).split(sep).join('/')]
  ]
  return about.length === 0 ? name : `${name} (${about.join(', ')})`
}

interface Description {
  name: string
  plugin: string | null
  source: string | null
  isPackage: boolean
}

// A hook is of the package whose file added it; for a file of the application, of the plugin of the instance.
function describe ({ name, plugin, addedAt }: Step): Description {
  const place = addedAt === null ? null : declaredPlace(addedAt)
  const owner = place?.package ?? null
  const source = place?.source ?? null
  return { name: name || 'anonymous', plugin: owner ?? plugin, source, isPackage: owner !== null }
}
