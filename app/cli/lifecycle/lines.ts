import { relative, sep } from 'node:path'
import type { DeclaredPlace } from '../../../plugins/diagnostics/declared-place.js'
import { ORDER, type ApplicationStep, type RouteOrder } from '../../../plugins/kernel/hook-order.js'
import { visibleLine } from '../../../plugins/view/visible.js'

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

/** `GET /articles/:id`, with what the route asks for beside. */
export function routeTitle ({ methods, url, constraints }: Pick<RouteOrder, 'methods' | 'url' | 'constraints'>, supported: readonly string[]): string {
  const isAny = supported.length > 0 && supported.every((method) => methods.includes(method))
  return [isAny ? 'ANY' : methods.join('|'), url, ...Object.keys(constraints).length === 0 ? [] : [JSON.stringify(plain(constraints))]].join(' ')
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
