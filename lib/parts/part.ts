import type { EditorLink } from '../view/editor.js'
import { failed } from '../view/components.js'
import type { Profile } from '../profiler/profile.js'
import type { ProfileSummary } from '../profiler/summary.js'

/** The groups of the menu, in their order. */
export const GROUPS = {
  overview: 'Overview',
  routing: 'Routing',
  security: 'Security',
  delivery: 'Delivery',
  environment: 'Environment',
  application: 'Application'
} as const

/** The data that a panel receives besides the profile. */
export interface PanelView {
  /** The query of the page's URL; a repeated field is a list. */
  query: Readonly<Record<string, unknown>>
  /** Makes links that open source in the editor; null if no editor is configured. */
  editor: EditorLink | null
  /** The path of the profiler's routes. */
  base?: string
  /** The request that caused this one; null: its profile is not stored. */
  parent?: ProfileSummary | null
  /** Requests that this one caused, newest first. */
  children?: readonly ProfileSummary[]
  /** Of a failure: its differences from the last success of its route, as markup; empty if there is none. */
  differences?: string
  /** The panels that have problems. */
  problems?: ReadonlyArray<readonly [panel: Panel, problems: Problems]>
}

/** The number of problems that a panel shows. */
export interface Problems {
  errors: number
  warnings: number
}

/** Shows one concern of a profile: pure functions of stored data, which may be incomplete or of another version. */
export interface Panel {
  /** The value of `?panel=`. */
  name: string
  /** The text of the menu entry. */
  label: string
  group: keyof typeof GROUPS
  /** Whether every profile has the panel; otherwise only profiles with data of the collector with its name. */
  always: boolean
  /** Returns markup in which every value is escaped. */
  render: (profile: Profile, view?: PanelView) => string
  /** The number of entries; 0: the panel has no data; undefined: unknown. */
  count: (profile: Profile) => number | undefined
  problems: (profile: Profile) => Problems
}

export type Data = Record<string, unknown>

/** A panel as functions of a profile and the data of the collector with its name; the data are empty without one. */
interface PanelOptions {
  always?: boolean
  render: (data: Data, profile: Profile, view: PanelView) => string
  count?: (data: Data, profile: Profile) => number | undefined
  errors?: (data: Data, profile: Profile) => number | boolean
  warnings?: (data: Data, profile: Profile) => number
}

/**
 * Makes a panel. If its collector failed, it shows that error. If `render` throws, it shows the message, and the other
 * panels are not affected.
 */
export function createPanel (
  name: string, label: string, group: Panel['group'], { always = false, count, errors, warnings, render }: PanelOptions
): Panel {
  return {
    name,
    label,
    group,
    always,
    count: (profile) => attempt(() => count?.(dataOf(profile, name), profile), () => undefined),
    problems (profile) {
      if (failureOf(profile, name) !== undefined) return { errors: 1, warnings: 0 }
      const data = dataOf(profile, name)
      return attempt(() => ({
        errors: Number(errors?.(data, profile) ?? 0),
        warnings: warnings?.(data, profile) ?? 0
      }), () => ({ errors: 0, warnings: 0 }))
    },
    render (profile, view = { query: {}, editor: null }) {
      const failure = failureOf(profile, name)
      if (failure !== undefined) return failed('collector', failure)
      return attempt(() => render(dataOf(profile, name), profile, view), (error) =>
        failed('panel', error instanceof Error ? error.message : String(error)))
    }
  }
}

function attempt<T> (read: () => T, otherwise: (error: unknown) => T): T {
  try {
    return read()
  } catch (error) {
    return otherwise(error)
  }
}

/** The data of a collector as an object; empty if there are none, or they are no object. */
export function dataOf (profile: Pick<Profile, 'collectors'>, collector: string): Data {
  const data = profile.collectors[collector]
  return isObject(data) ? data : {}
}

/** The error of a collector that failed. */
export function failureOf (profile: Profile, collector: string): string | undefined {
  const data = dataOf(profile, collector)
  return Object.keys(data).length === 1 && typeof data.error === 'string' ? data.error : undefined
}

export function isObject (value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; empty if the value is no list. */
export function listOf (value: unknown): Data[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** Whether an outgoing call had an error, or a response with an error status. */
export function isFailedCall ({ status, error }: Data): boolean {
  return error !== undefined || (typeof status === 'number' && status >= 400)
}

/** Why the request was blocked, one sentence each: the text in a stored profile's `blocked` list. */
export function blockedSentences ({ collectors }: Pick<Profile, 'collectors'>): string[] {
  return listOf(collectors.blocked).map(({ sentence }) => sentence).filter((sentence) => typeof sentence === 'string')
}

/** The URL of a panel of the same profile, relative to its page; `fragment` is the id of an element of the panel. */
export function addressOf (panel: string, fragment = ''): string {
  return `?${new URLSearchParams({ panel })}${fragment === '' ? '' : `#${fragment}`}`
}
