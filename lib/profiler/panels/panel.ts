import type { EditorLink } from '../../view/editor.js'
import type { Profile } from '../profile.js'

/** The parts of the menu, in their order. */
export const GROUPS = {
  overview: 'Overview',
  handling: 'Handling',
  security: 'Security',
  delivery: 'Delivery',
  around: 'Around it',
  application: 'Application'
} as const

/** What a panel knows beside the profile: how it was asked for, and how it is linked to. */
export interface PanelView {
  /** The fields of the address, a repeated one as a list. */
  query: Readonly<Record<string, unknown>>
  /** Writes links that open source in the editor; null where none was named. */
  editor: EditorLink | null
  /** The path that the profiler's routes begin with, where it is served by them. */
  base?: string
  /** Goes with every form that changes something, as `form_token`. */
  formToken?: string
  /** Whether a request can be repeated with a CPU profile. */
  repeatsCpu?: boolean
}

/** Shows one concern of a profile: a pure function of stored data, tolerant of what is missing in it. */
export interface Panel {
  /** The value of `?panel=`. */
  name: string
  /** What the menu calls it. */
  label: string
  /** Where the menu has it. */
  group: keyof typeof GROUPS
  /** Whether it is there for every profile; otherwise only where its collector has left something. */
  always?: boolean
  /** Markup, every value escaped. */
  render (profile: Profile, view?: PanelView): string
  /** The number beside the label; undefined where counting makes no sense. */
  count? (profile: Profile): number | undefined
  /** Whether the menu should draw the eye to it. */
  problem? (profile: Profile): boolean
  /** CSS of its own. */
  style?: string
  /** JavaScript of its own, which all pages load: it looks for its elements first. */
  script?: string
}

/** How a panel is shown when nobody has asked for anything in particular. */
export const PLAIN_VIEW: PanelView = { query: {}, editor: null }

export type Data = Record<string, unknown>

/** What a collector left, as an object; empty where it left nothing, or something else. */
export function dataOf (profile: Profile, collector: string): Data {
  const data = profile.collectors[collector]
  return isObject(data) ? data : {}
}

/** Why a collector has no data, where it failed. */
export function failureOf (profile: Profile, collector: string): string | undefined {
  const data = dataOf(profile, collector)
  return Object.keys(data).length === 1 && typeof data.error === 'string' ? data.error : undefined
}

export function isObject (value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; none where there is no list. */
export function listOf (value: unknown): Data[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** One field of an address as text; of a repeated one the last. */
export function fieldOf ({ query }: PanelView, name: string): string {
  const value = query[name]
  return String((Array.isArray(value) ? value.at(-1) : value) ?? '')
}

/** All values of a field of an address. */
export function fieldsOf ({ query }: PanelView, name: string): string[] {
  const value = query[name]
  return value === undefined ? [] : [value].flat().map(String)
}

/** The address of a panel of the same profile, beside the page that it stands in. */
export function addressOf (panel: string, fields: ReadonlyArray<readonly [string, string]> = [], fragment = ''): string {
  return `?${new URLSearchParams([['panel', panel], ...fields.map(([name, value]) => [name, value])])}${fragment === '' ? '' : `#${fragment}`}`
}
