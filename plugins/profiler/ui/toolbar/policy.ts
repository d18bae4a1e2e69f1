import { allowStyle, withNonce } from '../../../kernel/content-policy.js'

/** The nonces of the bar's own style and script. */
export interface BarNonces {
  style: string
  script: string
}

/** What the policies of a page leave to the bar. */
export interface BarRights {
  /** Whether its script may run: otherwise the bar is a static one. */
  script: boolean
  /** Whether its script may ask its own origin for more. */
  connect: boolean
}

type Directives = ReadonlyMap<string, readonly string[]>

/** What all policies together leave to the bar; each header may hold several (CSP3, section 3.1). */
export function barRights (headers: readonly string[]): BarRights {
  const policies = headers.flatMap((header) => header.split(',')).map(directivesOf)
  return { script: policies.every(mayRun), connect: policies.every(mayConnect) }
}

/** A policy header under which the bar's own elements are allowed, and nothing else. */
export function extendPolicy (header: string, nonces: BarNonces, { script }: BarRights): string {
  const styled = allowStyle(header, nonces.style)
  return script ? styled.split(',').map((policy) => allowScript(policy, nonces.script)).join(',') : styled
}

// A list of hashes, 'none' and Trusted Types say that the page knows each of its scripts: one more would make them say less.
function mayRun (directives: Directives): boolean {
  if (directives.has('trusted-types') || directives.has('require-trusted-types-for')) return false
  if (directives.get('sandbox')?.includes('allow-scripts') === false) return false
  const sources = scriptSources(directives)
  return sources === undefined || (sources.some((source) => source !== "'none'") && !sources.some((source) => /^'sha\d/.test(source)))
}

function mayConnect (directives: Directives): boolean {
  if (directives.has('sandbox')) return false
  const sources = directives.get('connect-src') ?? directives.get('default-src')
  return sources === undefined || sources.includes("'self'") || sources.includes('*')
}

function allowScript (policy: string, nonce: string): string {
  const directives = directivesOf(policy)
  const sources = scriptSources(directives)
  // A nonce beside 'unsafe-inline' would switch that off for the page's own scripts (CSP3, section 6.7.3.2).
  if (sources === undefined || (sources.includes("'unsafe-inline'") && !sources.some((source) => /^'(?:nonce-|strict-dynamic)/.test(source)))) return policy
  const parts = policy.split(';').map((part) => part.trim()).filter((part) => part !== '')
  return withNonce(parts, directives.has('script-src-elem') ? 'script-src-elem' : 'script-src', nonce).join('; ')
}

function scriptSources (directives: Directives): readonly string[] | undefined {
  return directives.get('script-src-elem') ?? directives.get('script-src') ?? directives.get('default-src')
}

// Of a directive that is there twice the first one counts (CSP3, section 2.2.1).
function directivesOf (policy: string): Directives {
  const directives = new Map<string, readonly string[]>()
  for (const part of policy.split(';')) {
    const [name = '', ...sources] = part.trim().toLowerCase().split(/\s+/)
    if (name !== '' && !directives.has(name)) directives.set(name, sources)
  }
  return directives
}
