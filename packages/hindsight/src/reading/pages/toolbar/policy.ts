import { withNonce, type Nonces } from '../../../http/responses.js'
import type { Origin } from '../../../http/origin.js'

/** The origin of a page, from which the files of the toolbar are loaded. */
type PageOrigin = Pick<Origin, 'scheme' | 'authority'>

type Kind = keyof Nonces

type Permission = 'granted' | 'with nonce' | 'denied'

const KINDS = ['style', 'script'] as const
// Such an element changes the origin of URLs that have none.
const BASE = /<base\s[^>]{0,300}?href\s*=[\s"']*(?:[a-z][\w+.-]*:|[/\\]{2})/i
const META_POLICY = /[\s"'/]http-equiv\s*=["'\s]*content-security-policy["'\s/>]/i
/** Directives under which the toolbar cannot work, or which restrict the page to certain scripts. */
const RESTRICTIVE = ['sandbox', 'trusted-types', 'require-trusted-types-for']

/** Whether a page has a policy in a `<meta>` element, which cannot be extended, or a `<base>` with another origin. */
export function forbidsToolbar (page: string): boolean {
  return META_POLICY.test(page) || BASE.test(page)
}

/**
 * Whether all policies of the headers allow the toolbar's files. Report-only policies count, so that the toolbar causes
 * no reports. `withNonces`: whether the policies can be extended by `extendHeader`.
 */
export function allowsToolbar (headers: readonly string[], origin: PageOrigin, withNonces: boolean): boolean {
  // A comma separates policies (CSP3, section 3.1).
  return headers.flatMap((header) => header.split(',')).every((policy) => KINDS.every((kind) => {
    const permission = permissionOf(policy, kind, origin)
    return permission === 'granted' || (withNonces && permission === 'with nonce')
  }))
}

/** A header's value with nonces in the directives that do not allow the toolbar without one. */
export function extendHeader (header: string, nonces: Nonces, origin: PageOrigin): string {
  return header.split(',').map((policy) => KINDS.reduce((extended, kind) => {
    if (permissionOf(extended, kind, origin) !== 'with nonce') return extended
    const parts = extended.split(';').map((part) => part.trim()).filter((part) => part !== '')
    const name = directivesOf(extended).has(`${kind}-src-elem`) ? `${kind}-src-elem` : `${kind}-src`
    return withNonce(parts, name, nonces[kind]).join('; ')
  }, policy)).join(',')
}

// CSP3, sections 6.7.1.1 and 6.7.1.2: a script or stylesheet with an address, inserted by the parser.
function permissionOf (policy: string, kind: Kind, origin: PageOrigin): Permission {
  const directives = directivesOf(policy)
  if (RESTRICTIVE.some((name) => directives.has(name))) return 'denied'
  const sources = directives.get(`${kind}-src-elem`) ?? directives.get(`${kind}-src`) ?? directives.get('default-src')
  if (sources === undefined) return 'granted'
  const isStrict = kind === 'script' && sources.includes("'strict-dynamic'")
  if (!isStrict && includesOrigin(sources, origin)) return 'granted'
  // 'none' and a list of hashes restrict the page to certain scripts: a nonce would weaken that.
  const isClosed = sources.every((source) => source === "'none'" || source.startsWith("'sha"))
  if (kind === 'script' && isClosed) return 'denied'
  // A nonce beside 'unsafe-inline' would disable that for the elements of the page (CSP3, section 6.7.3.2).
  const hasNonce = sources.some((source) => source.startsWith("'nonce-"))
  if (sources.includes("'unsafe-inline'") && !hasNonce) return 'denied'
  return 'with nonce'
}

// CSP3, section 6.7.2.8. Wildcards within a name and sources with a path count as other origins.
function includesOrigin (sources: readonly string[], { scheme, authority }: PageOrigin): boolean {
  const matching = ['*', "'self'", `${scheme}:`]
  if (authority !== '') matching.push(authority, `${scheme}://${authority}`)
  return sources.some((source) => matching.includes(source))
}

// The first directive of a name counts (CSP3, section 2.2.1).
function directivesOf (policy: string): ReadonlyMap<string, readonly string[]> {
  const directives = new Map<string, readonly string[]>()
  for (const part of policy.split(';')) {
    const [name = '', ...sources] = part.trim().toLowerCase().split(/\s+/)
    if (name !== '' && !directives.has(name)) directives.set(name, sources)
  }
  return directives
}
