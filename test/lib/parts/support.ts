import { JSDOM } from 'jsdom'
import type { Panel } from '../../../lib/parts/part.js'
import type { Profile } from '../../../lib/profiler/profile.js'

/** A panel of a profile as a store gives it back, asked for with the fields of an address. */
export function shown (panel: Panel, profile: Profile, query: Record<string, unknown> = {}): DocumentFragment {
  return JSDOM.fragment(panel.render(JSON.parse(JSON.stringify(profile)) as Profile, { query, editor: null }))
}

/** The text of each element that fits. */
export function texts (root: ParentNode, selector: string): string[] {
  return [...root.querySelectorAll(selector)].map((element) => element.textContent?.replace(/\s+/g, ' ').trim() ?? '')
}
