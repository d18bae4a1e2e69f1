import type { EditorLink } from '../../view/editor.js'
import { failed } from '../pages/components.js'
import type { Profile } from '../profile.js'
import type { ProfileSummary } from '../summary.js'

/** The groups of the menu, in their order. */
export const GROUPS = {
  overview: 'Overview',
  routing: 'Routing',
  security: 'Security',
  delivery: 'Delivery',
  environment: 'Environment',
  application: 'Application'
} as const

/** What a panel receives beside the profile. */
export interface PanelView {
  /** The query of the page's URL; a repeated field is a list. */
  query: Readonly<Record<string, unknown>>
  /** Makes links that open source in the editor; null if no editor is configured. */
  editor: EditorLink | null
  /** The path of the profiler's routes. */
  base?: string
  /** Whether the page offers to replay the request. */
  replayable?: boolean
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

/** Shows one concern of a profile: a pure function of stored data, which may be incomplete or of another version. */
export interface Panel {
  /** The value of `?panel=`. */
  name: string
  /** The text of the menu entry. */
  label: string
  group: keyof typeof GROUPS
  /** Whether every profile has the panel; otherwise only profiles with data of its collector. */
  always?: boolean
  /** Markup, every value escaped. */
  render: (profile: Profile, view?: PanelView) => string
  /** The number of entries; 0: the menu shows that the panel has no data; undefined: unknown. */
  count?: (profile: Profile) => number | undefined
  /** The problems, for the badges of the menu. */
  problems?: (profile: Profile) => Problems
}

export type Data = Record<string, unknown>

/** The panel of one collector, as functions of the collector's data. */
interface CollectorPanelOptions extends Pick<Panel, 'always'> {
  render: (data: Data, profile: Profile, view: PanelView) => string
  count?: (data: Data, profile: Profile) => number | undefined
  problems?: (data: Data, profile: Profile) => Problems
}

/** The view without a query, for panels that are rendered outside a page. */
export const PLAIN_VIEW: PanelView = { query: {}, editor: null }

/** Makes the panel of the collector with its name: where the collector failed, the panel shows the error instead. */
export function collectorPanel (
  name: string, label: string, group: Panel['group'], { always = false, count, problems, render }: CollectorPanelOptions
): Panel {
  const isFailed = (profile: Profile): boolean => failureOf(profile, name) !== undefined
  return {
    name,
    label,
    group,
    always,
    count (profile) {
      if (profile.collectors[name] === undefined) return 0
      return isFailed(profile) ? undefined : count?.(dataOf(profile, name), profile)
    },
    problems (profile) {
      if (isFailed(profile)) return onlyErrors(1)
      return problems?.(dataOf(profile, name), profile) ?? onlyErrors(0)
    },
    render (profile, view = PLAIN_VIEW) {
      const failure = failureOf(profile, name)
      return failure === undefined ? render(dataOf(profile, name), profile, view) : failed(failure)
    }
  }
}

/** The problems of a panel. Data of another version may not fit the panel, which then has none. */
export function problemsOf ({ problems }: Panel, profile: Profile): Problems {
  try {
    return problems?.(profile) ?? onlyErrors(0)
  } catch {
    return onlyErrors(0)
  }
}

export function onlyErrors (errors: number | boolean): Problems {
  return { errors: Number(errors), warnings: 0 }
}

export function isProblem ({ errors, warnings }: Problems): boolean {
  return errors + warnings > 0
}

/** The data of a collector as an object; empty if it left none or something else. */
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

/** Whether an outgoing call had no response, or an error as its response. */
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
