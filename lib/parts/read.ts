import { messageOf } from '../errors/thrown-value.js'
import { failed, json } from '../view/components.js'
import type { Profile } from '../store/profile.js'
import { synchronous } from './collect.js'
import { dataOf, failureOf, isObject } from './data.js'
import type { PanelView, Part } from './part.js'

/** A profile, stored or unfinished. */
type Recorded = Pick<Profile, 'collectors'>

const DEFAULT_ORDER = 100

/** The data that the functions of a part receive. */
function dataFor ({ name, collect }: Part, profile: Recorded): any {
  return collect === undefined ? dataOf(profile, name) : profile.collectors[name]
}

/** Whether a part of the application has data in a profile. Those of Hindsight read other fields, too. */
function hasData ({ name, collect }: Part, profile: Recorded): boolean {
  return collect === undefined || (Object.hasOwn(profile.collectors, name) && failureOf(profile, name) === undefined)
}

/**
 * What a function returns for each part and its data, and for each of them if it returns a list, in their order.
 * Results of parts for which it throws, and those that are no objects, are left out.
 */
export function resultsOf<R extends object> (
  parts: readonly Part[], profile: Recorded, read: (part: Part, data: any) => R | readonly R[] | undefined
): R[] {
  const results = parts.filter((part) => hasData(part, profile)).flatMap((part) =>
    [attempt(() => read(part, dataFor(part, profile)), () => undefined)].flat().filter(isObject) as R[])
  return results.sort(byOrder)
}

/** What a function of a part returns for a profile, as a list; empty if it throws. */
export function valuesOf (
  part: Part, profile: Profile, read: (data: any, profile: Profile) => unknown
): unknown[] {
  if (!hasData(part, profile)) return []
  return [attempt(() => read(dataFor(part, profile), profile), () => [])].flat()
    .filter((value) => value !== undefined && value !== null)
}

export function byOrder (a: object, b: object): number {
  const [first, second] = [a, b].map((one) => Number((one as { order?: number }).order ?? DEFAULT_ORDER))
  return Number(first) - Number(second)
}

/** The parts that have a panel for a profile. Data without a part, of another application, are shown as JSON. */
export function panelsOf (parts: readonly Part[], { collectors }: Profile): Part[] {
  const others = Object.keys(collectors).filter((name) => !parts.some((part) => part.name === name))
  return [
    ...parts.filter(({ name, collect, panel }) => collect === undefined
      ? panel !== undefined && (panel.always === true || collectors[name] !== undefined)
      : Object.hasOwn(collectors, name)),
    ...others.map((name): Part => ({ name }))
  ]
}

/** The text of the menu entry of a part. */
export function labelOf ({ name, panel: { label } = {} }: Part): string {
  return label ?? name.charAt(0).toUpperCase() + name.slice(1)
}

/** The number of problems that a panel shows. */
export interface Problems {
  errors: number
  warnings: number
}

export function problemsOf (part: Part, profile: Profile): Problems {
  if (failureOf(profile, part.name) !== undefined) return { errors: 1, warnings: 0 }
  const { problem, warnings } = part.panel ?? {}
  const data: unknown = dataFor(part, profile)
  const numberOf = (count: typeof problem): number =>
    Number(attempt(() => count?.(data, profile) ?? 0, () => 0)) || 0
  return { errors: numberOf(problem), warnings: numberOf(warnings) }
}

/** The number of entries of a panel; 0: it has no data; undefined: unknown. */
export function countOf (part: Part, profile: Profile): number | undefined {
  return attempt(() => part.panel?.count?.(dataFor(part, profile), profile), () => undefined)
}

/**
 * The markup of a panel. If its collector failed, it shows that error. If `render` throws, it shows the message, and
 * the other panels are not affected.
 */
export function renderPanel (part: Part, profile: Profile, view: PanelView): string {
  const failure = failureOf(profile, part.name)
  if (failure !== undefined) return failed('collector', failure)
  const render = part.panel?.render ?? (() => json(profile.collectors[part.name]))
  return attempt(() => String(synchronous(render(dataFor(part, profile), profile, view))), (error) =>
    failed('panel', messageOf(error)))
}

/** The result of a function, or, if it throws, that of the second one. */
export function attempt<T> (read: () => T, otherwise: (error: unknown) => T): T {
  try {
    return synchronous(read())
  } catch (error) {
    return otherwise(error)
  }
}
