import { withNonce } from '../../../http/content-policy.js'
import type { Origin } from '../../../http/origin.js'

/** The origin of a page. */
export type PageOrigin = Pick<Origin, 'scheme' | 'host' | 'authority'>

/** What the policies of a page allow to the toolbar, whose files come from the origin of the page. */
export interface ToolbarRights {
  /** Whether its stylesheet is loaded. Without it there is no toolbar. */
  style: boolean
  /** Whether its script runs. Without it the toolbar is readable, but static. */
  script: boolean
  /** Whether its script may request more data. */
  connect: boolean
}

type Kind = 'style' | 'script'

/** Nonces of the toolbar's elements. */
export type ToolbarNonces = Partial<Record<Kind, string>>

type Permission = 'granted' | 'with nonce' | 'denied'
type Directives = ReadonlyMap<string, readonly string[]>

/** Characters of one tag that are read. */
const MAX_TAG = 16_384
const TAG_END = /^(?:"[^"]*"|'[^']*'|[^"'>])*>/
const IS_POLICY = /[\s"'/]http-equiv\s*=\s*["']?\s*content-security-policy\s*(?:["'\s/>]|$)/i
const CONTENT = /[\s"'/]content\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/i
const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/

/**
 * What all policies of a page together allow, one policy in each string. Report-only policies belong to them: a report
 * must not be caused by the toolbar. `withNonces`: whether the policies can be extended by `extendHeader`.
 */
export function rightsUnder (policies: readonly string[], origin: PageOrigin, withNonces = false): ToolbarRights {
  const all = policies.map(directivesOf)
  const isAllowed = (kind: Kind): boolean => all.every((directives) => {
    const permission = permissionOf(directives, kind, origin)
    return permission === 'granted' || (withNonces && permission === 'with nonce')
  })
  return {
    style: isAllowed('style'),
    script: isAllowed('script'),
    connect: all.every((directives) => {
      const sources = directives.get('connect-src') ?? directives.get('default-src')
      return isReachable(directives, origin) && (sources === undefined || includesOrigin(sources, origin))
    })
  }
}

/** The policies of a header's value; a comma separates them (CSP3, section 3.1). */
export function policiesIn (header: string): string[] {
  return header.split(',')
}

/** The start tags of that name in a page, found in linear time whatever the page contains. */
export function startTags (page: string, name: string): string[] {
  const start = new RegExp(`<${name}(?=[\\s/>])`, 'gi')
  const tags: string[] = []
  for (let match = start.exec(page); match !== null; match = start.exec(page)) {
    const text = page.slice(match.index, match.index + MAX_TAG)
    const tag = TAG_END.exec(text)?.[0] ?? text
    tags.push(tag)
    start.lastIndex = match.index + tag.length
  }
  return tags
}

/** The policies of the `<meta>` elements of a page. One inside a comment counts too: then there may be no toolbar. */
export function metaPolicies (page: string): string[] {
  return startTags(page, 'meta').filter((tag) => IS_POLICY.test(tag)).map((tag) => {
    const [, double, single, unquoted] = CONTENT.exec(tag) ?? []
    // Template engines escape the quotes of keywords.
    return (double ?? single ?? unquoted ?? '').replace(/&(?:#0*39|#x0*27|apos);/gi, "'")
  })
}

/** A header's value with nonces in the directives that do not allow the toolbar without one; unchanged if all do. */
export function extendHeader (header: string, { style, script }: ToolbarNonces, origin: PageOrigin): string {
  return policiesIn(header)
    .map((policy) => extendPolicy(policy, 'style', style, origin))
    .map((policy) => extendPolicy(policy, 'script', script, origin))
    .join(',')
}

function extendPolicy (policy: string, kind: Kind, nonce = '', origin: PageOrigin): string {
  const directives = directivesOf(policy)
  if (nonce === '' || permissionOf(directives, kind, origin) !== 'with nonce') return policy
  const parts = policy.split(';').map((part) => part.trim()).filter((part) => part !== '')
  return withNonce(parts, directives.has(`${kind}-src-elem`) ? `${kind}-src-elem` : `${kind}-src`, nonce).join('; ')
}

// CSP3, sections 6.7.1.1 and 6.7.1.2: a script or stylesheet with an address, inserted by the parser.
function permissionOf (directives: Directives, kind: Kind, origin: PageOrigin): Permission {
  const isScript = kind === 'script'
  if (!isReachable(directives, origin) || (isScript && !runsScripts(directives))) return 'denied'
  const sources = directives.get(`${kind}-src-elem`) ?? directives.get(`${kind}-src`) ?? directives.get('default-src')
  if (sources === undefined) return 'granted'
  const isStrict = isScript && sources.includes("'strict-dynamic'")
  if (!isStrict && includesOrigin(sources, origin)) return 'granted'
  const hasHash = sources.some((source) => /^'sha\d/.test(source))
  // A list of hashes, or 'none', restricts the page to certain scripts: a nonce would weaken that.
  if (isScript && (hasHash || sources.every((source) => source === "'none'"))) return 'denied'
  // A nonce beside 'unsafe-inline' would disable that for the elements of the page (CSP3, section 6.7.3.2).
  const isInline = sources.includes("'unsafe-inline'") && !isStrict && !hasHash
  return isInline && !sources.some((source) => source.startsWith("'nonce-")) ? 'denied' : 'with nonce'
}

// Trusted Types do not affect an element in the markup, but they too restrict the page to certain scripts.
function runsScripts (directives: Directives): boolean {
  if (directives.has('trusted-types') || directives.has('require-trusted-types-for')) return false
  return directives.get('sandbox')?.includes('allow-scripts') !== false
}

/** Whether a request of the page reaches the origin at all, as a request of that origin. */
function isReachable (directives: Directives, { scheme, host }: PageOrigin): boolean {
  // In a sandbox without an origin the page is a foreign one, to which the profiler's routes do not answer.
  if (directives.get('sandbox')?.includes('allow-same-origin') === false) return false
  // Browsers would request the files by https, except from the loopback interface.
  return !directives.has('upgrade-insecure-requests') || scheme === 'https' || LOOPBACK.test(host)
}

// CSP3, section 6.7.2.8. Wildcards within a name and sources with a path are not understood: they count as others.
function includesOrigin (sources: readonly string[], { scheme, host, authority }: PageOrigin): boolean {
  // The grammar has no place for IPv6 addresses.
  const hosts = authority === '' || host.startsWith('[') ? [] : [authority, `${host}:*`]
  const names = hosts.flatMap((name) => [name, `http://${name}`, `${scheme}://${name}`])
  const own = new Set(['*', "'self'", 'http:', `${scheme}:`, ...names])
  return sources.some((source) => own.has(source.replace(/\/$/, '')))
}

// The first directive of a name counts (CSP3, section 2.2.1).
function directivesOf (policy: string): Directives {
  const directives = new Map<string, readonly string[]>()
  for (const part of policy.split(';')) {
    const [name = '', ...sources] = part.trim().toLowerCase().split(/\s+/)
    if (name !== '' && !directives.has(name)) directives.set(name, sources)
  }
  return directives
}
