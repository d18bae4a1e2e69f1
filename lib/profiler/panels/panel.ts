import type { EditorLink } from '../../view/editor.js'
import { html } from '../../view/html.js'
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
  /** Whether there is a problem. */
  problem?: (profile: Profile) => boolean
  /** The number of problems, for the badges of the menu; by default 1 error if there is a problem. */
  problems?: (profile: Profile) => Problems
}

export type Data = Record<string, unknown>

/** The panel of one collector, as functions of the collector's data. */
interface CollectorPanelOptions extends Pick<Panel, 'always'> {
  render: (data: Data, profile: Profile, view: PanelView) => string
  count?: (data: Data, profile: Profile) => number | undefined
  problem?: (data: Data, profile: Profile) => boolean
  /** Replaces `problem`. */
  problems?: (data: Data, profile: Profile) => Problems
}

/** The view without a query, for panels that are rendered outside a page. */
export const PLAIN_VIEW: PanelView = { query: {}, editor: null }

/** Makes the panel of the collector with its name: where the collector failed, the panel shows the error instead. */
export function collectorPanel (
  name: string, label: string, group: Panel['group'], options: CollectorPanelOptions
): Panel {
  const { always = false, count, render } = options
  return {
    name,
    label,
    group,
    ...(always && { always }),
    count: (profile) => profile.collectors[name] === undefined
      ? 0
      : failureOf(profile, name) === undefined ? count?.(dataOf(profile, name), profile) : undefined,
    problems: (profile) => {
      const data = dataOf(profile, name)
      if (failureOf(profile, name) !== undefined) return onlyErrors([data])
      return options.problems?.(data, profile) ?? onlyErrors(options.problem?.(data, profile) === true ? [data] : [])
    },
    render (profile, view = PLAIN_VIEW) {
      const failure = failureOf(profile, name)
      return failure === undefined ? render(dataOf(profile, name), profile, view) : failed(failure)
    }
  }
}

/** The problems of a panel. Data of another version may not fit the panel, which then has none. */
export function problemsOf ({ problem, problems }: Panel, profile: Profile): Problems {
  try {
    return problems?.(profile) ?? onlyErrors(problem?.(profile) === true ? [profile] : [])
  } catch {
    return onlyErrors([])
  }
}

export function onlyErrors ({ length }: readonly unknown[]): Problems {
  return { errors: length, warnings: 0 }
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

/** Splits a list where the key changes; the order stays. */
export function runsOf<T> (items: readonly T[], keyOf: (item: T) => unknown): T[][] {
  const runs: T[][] = []
  for (const [i, item] of items.entries()) {
    if (i > 0 && keyOf(item) === keyOf(items[i - 1] as T)) runs.at(-1)?.push(item)
    else runs.push([item])
  }
  return runs
}

/** Whether an outgoing call had no response, or an error as its response. */
export function isFailedCall ({ status, error }: Data): boolean {
  return error !== undefined || (typeof status === 'number' && status >= 400)
}

/** Why the request was blocked, one sentence each: the text in a stored profile's `blocked` list. */
export function blockedSentences ({ collectors }: Pick<Profile, 'collectors'>): string[] {
  return listOf(collectors.blocked).map(({ sentence }) => sentence).filter((sentence) => typeof sentence === 'string')
}

/** The values of a field of the query. */
export function fieldsOf ({ query }: PanelView, name: string): string[] {
  return [query[name] ?? []].flat().map(String)
}

/** The last value of a field of the query; empty if there is none. */
export function fieldOf (view: PanelView, name: string): string {
  return fieldsOf(view, name).at(-1) ?? ''
}

/** The URL of a panel of the same profile, relative to its page. */
export function addressOf (
  panel: string,
  fields: ReadonlyArray<readonly [string, string]> = [],
  fragment = ''
): string {
  const query = new URLSearchParams([['panel', panel], ...fields.map(([name, value]) => [name, value])])
  return `?${query}${fragment === '' ? '' : `#${fragment}`}`
}

/** The entries of a page of outgoing calls or spans: with 20, it has about 35 kB. */
export const ENTRY_PAGE = 20

/** The URL of an outgoing call or a span; `i` is its index. */
export function entryAddress (panel: string, kind: string, i: number): string {
  const page = Math.floor(i / ENTRY_PAGE) + 1
  return addressOf(panel, page === 1 ? [] : [['page', String(page)]], `${kind}-${i + 1}`)
}

/** The page of a list that the field `page` of the query names, from 1. */
export function pageOf<T> (items: readonly T[], size: number, view: PanelView) {
  const pages = Math.max(1, Math.ceil(items.length / size))
  const page = Math.min(pages, Math.max(1, Math.trunc(Number(fieldOf(view, 'page'))) || 1))
  const first = (page - 1) * size
  return { page, pages, first, items: items.slice(first, first + size) }
}

/** The links to the other pages of a panel with `what`, such as lines. */
export function pageLinks (
  panel: string, what: string, { page, pages }: { page: number, pages: number },
  fields: ReadonlyArray<readonly [string, string]> = []
): string {
  if (pages === 1) return ''
  const link = (to: number, label: string): string =>
    to < 1 || to > pages ? '' : html`<a href="${addressOf(panel, [...fields, ['page', String(to)]])}">${label}</a> `
  return html`<nav class="pages" aria-label="Pages">!${link(page - 1, `Earlier ${what}`)}` +
    html`<span>Page ${page} of ${pages}</span> !${link(page + 1, `Later ${what}`)}</nav>`
}
