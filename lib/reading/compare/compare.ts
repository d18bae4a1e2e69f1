import { panelsOf } from '../../parts/index.js'
import { listOf } from '../../parts/part.js'
import type { Profile } from '../../profiler/profile.js'
import type { ProfileSummary } from '../../profiler/summary.js'
import { SectionBuilder, type Section } from '../../parts/section-builder.js'
import { collector, SECTIONS } from '../../parts/sections.js'

/** One of two profiles that are compared. */
export type Compared =
  Pick<ProfileSummary, 'token' | 'time' | 'method' | 'url' | 'status' | 'duration' | 'route' | 'exception'>

/** Two profiles side by side, as plain data. */
export interface Comparison {
  a: Compared
  b: Compared
  /** The number of differences, without those of volatile values. */
  differences: number
  /** The number of equal values. */
  equal: number
  /** Those with differences first. */
  sections: Section[]
}

/** Collectors that have a section, or whose data are about the process. */
const COVERED = new Set([
  'request', 'response', 'headers', 'session', 'security', 'performance', 'otherErrors', 'trace'
])

/** Compares two profiles, section by section. */
export function compareProfiles (a: Profile, b: Profile): Comparison {
  const names = new Set([...Object.keys(a.collectors), ...Object.keys(b.collectors)])
  const others = [...names].filter((name) => !COVERED.has(name))
  const panels = [...panelsOf(a), ...panelsOf(b)]
  const labelOf = (name: string): string => panels.find((panel) => panel.name === name)?.label ?? name
  const all = [...SECTIONS, ...others.map((name) => [name, labelOf(name), collector(name)] as const)]
  const sections = all.map(([name, label, compare]) => {
    const builder = new SectionBuilder(name, label, [a.token, b.token])
    compare(builder, a, b)
    return builder.section
  })
  return {
    a: comparedOf(a),
    b: comparedOf(b),
    differences: sections.reduce((sum, { differences }) => sum + differences.length, 0),
    equal: sections.reduce((sum, { equal }) => sum + equal, 0),
    sections: sections.toSorted((one, other) =>
      Number(one.differences.length === 0) - Number(other.differences.length === 0))
  }
}

function comparedOf (profile: Profile): Compared {
  const { token, time, method, url, status, duration, route } = profile
  const last = listOf(profile.exceptions).at(-1)
  const exception = last === undefined ? null : `${String(last.name)}: ${String(last.message)}`
  return { token, time, method, url, status, duration, route: route?.name ?? null, exception }
}
