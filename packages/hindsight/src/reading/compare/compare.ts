import { attemptCall } from '../../call.js'
import { isClientHeader } from '../../http/requests.js'
import { byOrder, labelOf, resultsOf } from '../../parts/read.js'
import { parts as allParts } from '../../parts/index.js'
import type { ComparedSection, Part, PartTime } from '../../parts/part.js'
import { isOneFailed } from '../../parts/pairing.js'
import { flattenPaths, kindOf, Section, type Difference, type Values } from '../../parts/section.js'
import { isSuccess, type Profile } from '../../store/profile.js'
import { recordOf } from '../../store/summary.js'
import { timeText } from './last-success.js'

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
  const times = compareTimes(a, b, parts)
  if (times.differences.length > 0) sections.unshift(times)
  return {
    a: comparedOf(a),
    b: comparedOf(b),
    differences: sections.reduce((sum, { differences }) => sum + differences.length, 0),
    equal: sections.reduce((sum, { equal }) => sum + equal, 0),
    sections
  }
}

/** A difference with the label of its section. */
export type RankedDifference = Difference & { label: string }

/** Sections of what follows from other differences. */
const EFFECTS: ReadonlySet<string> = new Set(['exceptions', 'response', 'logs', 'events'])
/** What a request is refused for by its client: then the headers of the client may be the cause. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 406])

/**
 * All differences in one order: what may be a cause, times, and what follows. `ofClient`: cookies and headers that each
 * client has its own of, unless one of the requests was refused.
 */
export function rankedDifferences (
  { a, b, sections }: Comparison
): Record<'shown' | 'ofClient', RankedDifference[]> {
  const isRefused = REFUSALS.has(a.status) || REFUSALS.has(b.status)
  const rankOf = (section: string, what: string): number => {
    const header = /^header (.+)$/.exec(what)?.[1] ?? ''
    const isOfClient = isClientHeader(header) || /^(?:set-)?cookie$/.test(header) || what === 'client'
    if (isOfClient && !isRefused) return 3
    if (section === 'times') return 1
    return EFFECTS.has(section) || what === 'status' ? 2 : 0
  }
  const all = sections.flatMap(({ name, label, differences }) =>
    differences.map((one) => ({ ...one, label, rank: rankOf(name, one.what) })))
    .sort((one, other) => one.rank - other.rank)
  const of = (isOfClient: boolean): RankedDifference[] =>
    all.filter(({ rank }) => (rank === 3) === isOfClient).map(({ rank: _, ...one }) => one)
  return { shown: of(false), ofClient: of(true) }
}

/** Milliseconds, and how many times as long: from both on, two times are different. */
const DIFFERENT_TIME = { milliseconds: 20, factor: 2 }

/** How long both took in all, and for what: a time varies from request to request, a number of queries does not. */
function compareTimes (a: Profile, b: Profile, parts: readonly Part[]): Section {
  const section = new Section('times', 'Time', [a.token, b.token])
  const [ofA, ofB] = [a, b].map((profile) => {
    const times = resultsOf(parts, profile, (part, data) => part.times?.(data, profile, profile === a ? b : a))
    return new Map([{ name: 'duration', time: profile.duration }, ...times].map((one) => [one.name, one as PartTime]))
  }) as [Map<string, PartTime>, Map<string, PartTime>]
  for (const what of new Set([...ofA.keys(), ...ofB.keys()])) {
    const [before, after] = [ofA.get(what), ofB.get(what)]
    if (isOneFailed(a, b) && (isSuccess(a) ? after : before) === undefined) continue
    const [least = 0, most = 0] = [before?.time ?? 0, after?.time ?? 0].sort((one, other) => one - other)
    const isTime = most - least >= DIFFERENT_TIME.milliseconds && most >= least * DIFFERENT_TIME.factor
    // A query or call of one profile only is in the section of its part.
    const isCount = before?.count !== after?.count && before !== undefined && after !== undefined
    if (isTime || isCount) {
      section.differences.push({ what, kind: kindOf(before, after), a: timeText(before), b: timeText(after) })
    }
  }
  return section
}

/** What lists show of a profile. */
function comparedOf (profile: Profile) {
  const { pinned: _, ...summary } = recordOf(profile).summary
  return summary
}

function compareSection (part: Part, section: ComparedSection, a: Profile, b: Profile): Section {
  const { name } = part
  const isWithoutPanel = allParts.includes(part) && part.panel === undefined
  const label = section.label ?? (isWithoutPanel ? name : labelOf(part))
  const builder = new Section(section.name ?? name, label, [a.token, b.token], part.from)
  const { compare, values } = section
  const valuesOf = (profile: Profile, other: Profile): Values => {
    if (values === undefined) return flattenPaths(profile.collectors[name])
    return resultsOf<Values>([part], profile, (_, data) => values(data, profile, other))[0] ?? {}
  }
  if (compare === undefined) builder.values(valuesOf(a, b), valuesOf(b, a))
  else attemptCall(() => compare(builder, a, b))
  return builder
}
