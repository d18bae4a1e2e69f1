import { profileMarkdown } from '../../../plugins/profiler/markdown/profile-markdown.js'
import type { Profile } from '../../../plugins/profiler/profile.js'
import { code } from '../../../plugins/view/markdown.js'
import { cut } from '../../../plugins/view/visible.js'

const MAX_VALUE = 200
const MAX_DIFFERENCES = 40

/** Two profiles side by side as Markdown: what differs first, then both. */
export function compareMarkdown (left: Profile, right: Profile): string {
  const differences = [...facts(left, right), ...headers(left, right), ...listeners(left, right)]
  const more = differences.length - MAX_DIFFERENCES
  return [
    `# ${left.token} and ${right.token}`,
    differences.length === 0 ? 'Nothing differs in what is compared here: facts, headers, and what the listeners did.' : [...differences.slice(0, MAX_DIFFERENCES), ...(more > 0 ? [`- and ${more} more`] : [])].join('\n'),
    `---\n\nThe first, ${left.token}:`, profileMarkdown(left), `---\n\nThe second, ${right.token}:`, profileMarkdown(right)
  ].join('\n\n')
}

function facts (left: Profile, right: Profile): string[] {
  const told = (profile: Profile): Record<string, unknown> => ({
    method: profile.method,
    url: profile.url,
    status: profile.status,
    'duration (ms)': profile.duration,
    route: profile.route?.name ?? 'none',
    exception: lastOf(profile),
    'lines of the log': countOf(profile.logs),
    'warnings and errors': countOf(profile.logs, ({ level }) => level === 'warn' || level === 'error' || level === 'fatal')
  })
  return differing(told(left), told(right), '')
}

function headers (left: Profile, right: Profile): string[] {
  return ['request', 'response'].flatMap((part) => differing(headersOf(left, part), headersOf(right, part), `${part} header `))
}

function listeners (left: Profile, right: Profile): string[] {
  return differing(outcomesOf(left), outcomesOf(right), 'listener ')
}

function differing (left: Readonly<Record<string, unknown>>, right: Readonly<Record<string, unknown>>, what: string): string[] {
  return [...new Set([...Object.keys(left), ...Object.keys(right)])].filter((name) => String(left[name]) !== String(right[name])).map((name) => `- ${what}${code(cut(name, MAX_VALUE))}: ${shown(left[name])} → ${shown(right[name])}`)
}

function shown (value: unknown): string {
  return value === undefined ? 'not there' : code(cut(String(value), MAX_VALUE))
}

function lastOf ({ exceptions }: Profile): string {
  const last = Array.isArray(exceptions) ? exceptions.at(-1) : undefined
  return last === undefined ? 'none' : `${last.name}: ${last.message}`
}

function countOf<T> (list: readonly T[], wanted: (one: T) => boolean = () => true): number {
  return Array.isArray(list) ? (list as T[]).filter(wanted).length : 0
}

function headersOf ({ collectors }: Profile, part: string): Record<string, unknown> {
  const headers = (collectors[part] as { headers?: unknown } | undefined)?.headers
  return typeof headers === 'object' && headers !== null ? headers as Record<string, unknown> : {}
}

function outcomesOf ({ events }: Profile): Record<string, unknown> {
  return Object.fromEntries((Array.isArray(events) ? events : []).map(({ stage, listener, pass, outcome }) => [`${pass} ${stage} ${listener}`, outcome]))
}
