import type { Profile } from '../profile.js'
import type { Compared, Comparison } from './comparison.js'
import { headerChanges } from './header-changes.js'
import { body, collector, exceptions, listOf, logs, outcome, request, response, type Compare } from './sections.js'
import { durations, events } from './timeline.js'

const TITLES: Readonly<Record<string, string>> = { csp: 'Content Security Policy', cors: 'CORS', cache: 'HTTP cache', 'http-client': 'HTTP client', config: 'Configuration', params: 'Parameters', router: 'Routing' }

// In the order in which they explain a failure.
const SECTIONS: readonly Compare[] = [outcome, exceptions, request, body, collector('session', 'Session'), collector('security', 'Security'), response, headerChanges, logs, events, durations]
/** What has a section of its own, or says how the process was and not what the request met. */
const SHOWN = new Set(['request', 'response', 'headers', 'session', 'security', 'performance', 'otherErrors', 'trace'])

/** Puts two profiles beside each other: what differs, section by section, and how much is the same. */
export function compareProfiles (a: Profile, b: Profile): Comparison {
  const tokens = { a: a.token, b: b.token }
  const others = [...new Set([...Object.keys(a.collectors), ...Object.keys(b.collectors)])].filter((name) => !SHOWN.has(name))
  const all = [...SECTIONS, ...others.map((name) => collector(name, titleOf(name)))].map((compare) => compare(a, b, tokens))
  const sections = [...all.filter(({ differences }) => differences.length > 0), ...all.filter(({ differences }) => differences.length === 0)]
  return {
    a: comparedOf(a),
    b: comparedOf(b),
    differences: sections.reduce((sum, { differences }) => sum + differences.length, 0),
    equal: sections.reduce((sum, { equal }) => sum + equal, 0),
    sections
  }
}

/** The older of two profiles first: what was, and what has become of it. */
export function inOrder (one: Profile, other: Profile): [older: Profile, newer: Profile] {
  return one.time <= other.time ? [one, other] : [other, one]
}

function comparedOf (profile: Profile): Compared {
  const { token, time, method, url, status, duration, route } = profile
  const last = listOf(profile.exceptions).at(-1)
  return { token, time, method, url, status, duration, route: route?.name ?? null, exception: last === undefined ? null : `${last.name}: ${last.message}` }
}

function titleOf (name: string): string {
  if (Object.hasOwn(TITLES, name)) return String(TITLES[name])
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}
