import type { Hint } from '../errors/hints.js'
import { cut } from '../view/visible.js'
import type { Profile } from '../store/profile.js'

/** Texts of one hint. */
const MAX_TEXTS = 5
/** Characters. */
const MAX_TEXT = 300

export type Data = Record<string, unknown>

/** The data of a collector as an object; empty if there are none, or they are no object. */
export function dataOf (profile: Pick<Profile, 'collectors'>, collector: string): Data {
  const data = profile.collectors[collector]
  return isObject(data) ? data : {}
}

/** The error of a collector that failed. */
export function failureOf (profile: Pick<Profile, 'collectors'>, collector: string): string | undefined {
  const data = dataOf(profile, collector)
  return Object.keys(data).length === 1 && typeof data.error === 'string' ? data.error : undefined
}

export function isObject (value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; empty if the value is no list. A store may contain anything. */
export function listOf (value: unknown): Data[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function numberOf (value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

/** The URL of a panel of the same profile, relative to its page; `fragment` is the id of an element of the panel. */
export function addressOf (panel: string, fragment = ''): string {
  return `?${new URLSearchParams({ panel })}${fragment === '' ? '' : `#${fragment}`}`
}

/** A hint that lists texts; none without a text. */
export function listHint (title: string, texts: readonly string[], order: number, separator = '; '): Hint[] {
  if (texts.length === 0) return []
  const text = texts.slice(0, MAX_TEXTS).map((text) => cut(text, MAX_TEXT)).join(separator)
  return [{ title, text, order } as Hint]
}

/** The parts of a URL; a parameter with several values is a list. */
export function splitUrl (url: string): { origin: string | undefined, path: string, query?: object } {
  const [, origin, path = '', search] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? []
  if (search === undefined) return { origin, path }
  const parameters = new URLSearchParams(search)
  const query = [...new Set(parameters.keys())].map((name) => {
    const values = parameters.getAll(name)
    return [name, values.length === 1 ? String(values[0]) : values] as const
  })
  return { origin, path, query: Object.fromEntries(query) }
}
