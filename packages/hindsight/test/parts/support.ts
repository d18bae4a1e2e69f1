import { JSDOM } from 'jsdom'
import { parts } from '../../src/parts/index.js'
import type { PanelView, Part } from '../../src/parts/part.js'
import { renderPanel } from '../../src/parts/read.js'
import type { Profile } from '../../src/store/profile.js'

/** The markup of a panel of a profile as a store gives it back. */
export function markup (part: Part, profile: Profile, view: Partial<PanelView> = {}): string {
  const stored = JSON.parse(JSON.stringify(profile)) as Profile
  return String(renderPanel(part, stored, { query: {}, editor: null, parts, ...view }))
}

/** The same as a fragment, for the fields of an address. */
export function shown (part: Part, profile: Profile, query: Record<string, unknown> = {}): DocumentFragment {
  return JSDOM.fragment(markup(part, profile, { query }))
}

/** The text of each element that fits. */
export function texts (root: ParentNode, selector: string): string[] {
  return [...root.querySelectorAll(selector)].map((element) => element.textContent?.replace(/\s+/g, ' ').trim() ?? '')
}
