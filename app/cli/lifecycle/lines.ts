import { relative, sep } from 'node:path'
import type { DeclaredPlace } from '../../../plugins/diagnostics/declared-place.js'
import { ORDER, type ApplicationStep, type RouteOrder } from '../../../plugins/kernel/hook-order.js'
import { visibleLine } from '../../../plugins/view/visible.js'
import { CommandError } from '../command.js'

const MAX_TOLD = 20

/** Reads where something was added, by a stack that was taken there. */
export type PlaceOf = (addedAt: Error) => DeclaredPlace | null

/** Which application it is the order of. */
export interface Contract {
  /** Null where fastify-hindsight is not there. */
  debug: boolean | null
  routes: readonly RouteOrder[]
  /** All methods that the application knows: a route of all of them is one for any. */
  supported: readonly string[]
}

/** The routes that are told: all that the application declares, or the one that was named. */
export function wantedRoutes (routes: readonly RouteOrder[], supported: readonly string[], named?: string): RouteOrder[] {
  if (named === undefined) return routes.filter(({ isOurs, isImplied }) => !isOurs && !isImplied)
  const [, method = '', url = ''] = /^\s*(\S+)\s+(\S.*?)\s*$/.exec(named) ?? []
  const asked = method.toUpperCase()
  const found = routes.filter((one) => one.url === url && (one.methods.includes(asked) || methodsOf(one.methods, supported) === asked))
  if (found.length > 0) return found
  const known = wantedRoutes(routes, supported).map(({ methods, url }) => `${methodsOf(methods, supported)} ${url}`)
  throw new CommandError(`--route: there is no route "${named}"; ${known.length === 0 ? 'the application has none' : `there are ${known.slice(0, MAX_TOLD).join(', ')}${known.length > MAX_TOLD ? ` and ${known.length - MAX_TOLD} more` : ''}`}.`)
}

/** The order of each route as text that changes only when the order does: files without their lines, packages without theirs. */
export function contractLines ({ debug, routes, supported }: Contract, placeOf: PlaceOf): string[] {
  return [
    `Lifecycle ${modeOf(debug)}`,
    ...routes.flatMap((route) => [
      '',
      visibleLine(routeTitle(route, supported)),
      ...ORDER.flatMap((hook) => {
        const steps = route.steps.filter((step) => step.hook === hook)
        return steps.length === 0 ? [] : [`  ${hook}`, ...steps.map((step) => `    ${visibleLine('stage' in step ? `${step.stage} ${step.listener}` : applicationText(step, placeOf))}`)]
      })
    ])
  ]
}

/** The same for programs: with lines of files, and with the listeners that have nothing to do. */
export function contractData ({ debug, routes }: Contract, placeOf: PlaceOf): object {
  return {
    mode: debug === null ? null : debug ? 'debug' : 'production',
    routes: routes.map(({ methods, url, constraints, steps, idle }) => ({
      methods,
      url,
      ...(Object.keys(constraints).length > 0 && { constraints: plain(constraints) }),
      steps: steps.map((step) => {
        if ('stage' in step) return step
        const { plugin, source } = placed(step, placeOf)
        return { hook: step.hook, name: nameOf(step), ...(plugin !== null && { plugin }), ...(step.ofRoute && { route: true }), ...(source !== null && { source }) }
      }),
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

// `GET /articles/:id`, with what the route asks for beside.
function routeTitle ({ methods, url, constraints }: RouteOrder, supported: readonly string[]): string {
  return [methodsOf(methods, supported), url, ...Object.keys(constraints).length === 0 ? [] : [JSON.stringify(plain(constraints))]].join(' ')
}

// A host may be a pattern.
function plain (constraints: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(constraints).map(([name, value]) => [name, String(value)]))
}

function applicationText (step: ApplicationStep, placeOf: PlaceOf): string {
  const { plugin, source, isForeign } = placed(step, placeOf)
  const file = source === null || isForeign ? null : fileOf(source)
  const about = [...step.ofRoute && step.hook !== 'handler' ? ['route'] : [], ...[plugin, file].filter((part) => part !== null)]
  return about.length === 0 ? nameOf(step) : `${nameOf(step)} (${about.join(', ')})`
}

function nameOf ({ name }: ApplicationStep): string {
  return name === '' ? 'anonymous' : name
}

function placed ({ plugin, addedAt }: ApplicationStep, placeOf: PlaceOf): { plugin: string | null, source: string | null, isForeign: boolean } {
  const place = addedAt === null ? null : placeOf(addedAt)
  return { plugin: place?.package ?? plugin, source: place?.source ?? null, isForeign: place !== null && place.package !== null }
}

function fileOf (source: string): string {
  return relative(process.cwd(), source.replace(/:\d+$/, '')).split(sep).join('/')
}
