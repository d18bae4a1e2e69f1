import type { Profile } from '../store/profile.js'
import { addressOf } from './data.js'
import type { Part, TimelineEntry } from './part.js'
import { labelOf, resultsOf } from './read.js'

/** An entry with what it does not give itself. */
export type Span = TimelineEntry & Required<Pick<TimelineEntry, 'link' | 'color' | 'failed' | 'detail'>>

/** The entries of all parts in a profile, ordered by their start. */
export function timelineOf (parts: readonly Part[], profile: Profile): Span[] {
  return parts.flatMap((part) => {
    const defaults = { link: addressOf(part.name), color: 'own', failed: false }
    return resultsOf([part], profile, (_, data) => part.timeline?.(data, profile))
      // Steps have their own colors, which need no legend.
      .map((entry): Span => ({
        ...defaults, detail: entry.name, ...entry.step === undefined && { legend: labelOf(part) }, ...entry
      }))
  })
    .filter(({ start }) => Number.isFinite(start))
    .sort((a, b) => a.start - b.start || Number(b.duration) - Number(a.duration))
}
