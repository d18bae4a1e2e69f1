import { randomBytes } from 'node:crypto'
import type { RequestState } from '../lifecycle/state.js'

declare module '../lifecycle/state.js' {
  interface RequestState {
    scriptNonce?: string
    styleNonce?: string
    /** The policy of the response if that is a diagnostic page. */
    ownPolicy?: string
  }
}

export type Nonces = ReturnType<typeof noncesOf>

/** A nonce of 128 random bits (CSP3, section 7.1). */
export function generateNonce (): string {
  return randomBytes(16).toString('base64')
}

/** The nonces that a response shares with its policy, generated when they are first read (CSP3, section 2.3.1). */
export function noncesOf (state: RequestState) {
  return {
    get script () { return (state.scriptNonce ||= generateNonce()) },
    get style () { return (state.styleNonce ||= generateNonce()) }
  }
}

/** The directives of a policy with a nonce added to one of them, or to a copy of its fallback. */
export function withNonce (directives: readonly string[], name: string, nonce: string): readonly string[] {
  if (nonce === '') return directives
  const named = (wanted: string): string | undefined => directives.find((directive) => nameOf(directive) === wanted)
  const own = named(name)
  const base = own ?? named('default-src')
  // Without a fallback nothing is restricted.
  if (base === undefined) return directives
  // 'none' is only valid alone (CSP3, section 2.3.1).
  const sources = base.split(/\s+/).slice(1).filter((source) => !/^'none'$/i.test(source))
  const extended = [name, ...sources, `'nonce-${nonce}'`].join(' ')
  return own === undefined
    ? [...directives, extended]
    : directives.map((directive) => directive === own ? extended : directive)
}

/** A policy header with an address for reports, in each policy that has none (CSP3, section 5.3). */
export function withReportUri (header: string, uri: string): string {
  return header.split(',').map((policy) => {
    const names = policy.split(';').map((directive) => nameOf(directive.trim()))
    if (names.every((name) => name === '') || names.includes('report-uri') || names.includes('report-to')) return policy
    return `${policy.replace(/[;\s]+$/, '')};report-uri ${uri}`
  }).join(',')
}

function nameOf (directive: string): string {
  return (directive.split(/\s/, 1)[0] as string).toLowerCase()
}
