import type { Profile } from '../profile.js'

/** Shows one concern of a profile: a pure function of stored data, tolerant of what is missing in it. */
export interface Panel {
  /** The value of `?panel=`. */
  name: string
  /** What the menu calls it. */
  label: string
  /** Markup, every value escaped. */
  render (profile: Profile): string
  /** The number beside the label; undefined where counting makes no sense. */
  count? (profile: Profile): number | undefined
  /** Whether the menu should draw the eye to it. */
  problem? (profile: Profile): boolean
}

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
