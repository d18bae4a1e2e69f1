import { attemptCall } from '../../call.js'
import { mainCause } from '../../errors/exception.js'
import { byOrder, labelOf, resultsOf } from '../../parts/read.js'
import { parts as allParts } from '../../parts/index.js'
import type { ComparedSection, Part } from '../../parts/part.js'
import { flattenPaths, Section, type Values } from '../../parts/section.js'
import type { Profile } from '../../store/profile.js'

export type Compared = ReturnType<typeof comparedOf>

export type Comparison = ReturnType<typeof compareProfiles>

/**
 * Compares two profiles, section by section: those that differ first, then those that are in each comparison, then
 * those of other data. Volatile values are not counted.
 */
export function compareProfiles (a: Profile, b: Profile, parts: readonly Part[] = allParts) {
  const names = [...new Set([...Object.keys(a.collectors), ...Object.keys(b.collectors)])]
  const others = names.filter((name) => !parts.some((part) => part.name === name)).map((name): Part => ({ name }))
  const sections = [...parts, ...others]
    .flatMap((part) => (part.comparison ?? [{}]).map((section) => ({ part, section })))
    .filter(({ part, section }) => section.order !== undefined || names.includes(part.name))
    .sort((one, other) => byOrder(one.section, other.section))
    .map(({ part, section }) => compareSection(part, section, a, b))
    .sort((one, other) => Number(one.differences.length === 0) - Number(other.differences.length === 0))
  return {
    a: comparedOf(a),
    b: comparedOf(b),
    differences: sections.reduce((sum, { differences }) => sum + differences.length, 0),
    equal: sections.reduce((sum, { equal }) => sum + equal, 0),
    sections
  }
}

function comparedOf (profile: Profile) {
  const { token, time, method, url, status, duration, route } = profile
  const cause = mainCause(profile)
  const exception = cause === null ? null : `${cause.name}: ${cause.message}`
  return { token, time, method, url, status, duration, route: route?.name ?? null, exception }
}

function compareSection (part: Part, section: ComparedSection, a: Profile, b: Profile): Section {
  const { name } = part
  const isWithoutPanel = allParts.includes(part) && part.panel === undefined
  const label = section.label ?? (isWithoutPanel ? name : labelOf(part))
  const builder = new Section(section.name ?? name, label, [a.token, b.token])
  const { compare, values } = section
  const valuesOf = (profile: Profile): Values => {
    if (values === undefined) return flattenPaths(profile.collectors[name])
    return resultsOf<Values>([part], profile, (_, data) => values(data, profile))[0] ?? {}
  }
  if (compare === undefined) builder.values(valuesOf(a), valuesOf(b))
  else attemptCall(() => compare(builder, a, b))
  return builder
}
