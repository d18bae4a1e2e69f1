import { randomFillSync } from 'node:crypto'
import type { RequestState } from '../lifecycle/request-state.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    scriptNonce?: string
    styleNonce?: string
    /** The policy of the response, where that is one of our own pages. */
    ownPolicy?: string
  }
}

/** The nonces of a response, drawn when they are first read (CSP3, section 2.3.1). */
export interface Nonces {
  readonly script: string
  readonly style: string
}

// Many are drawn at once, since each call to the generator costs more than all that it gives.
const LENGTH = 16
const DRAWN = 128
const octets = Buffer.alloc(LENGTH * DRAWN)
let drawn = DRAWN

/** A nonce of 128 random bits (CSP3, section 7.1). */
export function drawNonce (): string {
  if (drawn === DRAWN) {
    randomFillSync(octets)
    drawn = 0
  }
  const at = LENGTH * drawn++
  const nonce = octets.toString('base64', at, at + LENGTH)
  // What was given away is nowhere else.
  octets.fill(0, at, at + LENGTH)
  return nonce
}

// Getters of a class: V8 keeps those of an object literal until all of the heap is collected, and what they refer to, which is the request.
class NoncesOf implements Nonces {
  readonly #state: RequestState

  constructor (state: RequestState) {
    this.#state = state
  }

  get script (): string {
    return (this.#state.scriptNonce ||= drawNonce())
  }

  get style (): string {
    return (this.#state.styleNonce ||= drawNonce())
  }
}

/** The nonces that a response shares with its policy; no random byte is drawn until one is read. */
export function noncesOf (state: RequestState): Nonces {
  return new NoncesOf(state)
}

/** The directives of a policy with a nonce added to one of them, as its fallback leaves room for it. */
export function withNonce (parts: readonly string[], directive: string, nonce: string): readonly string[] {
  if (nonce === '') return parts
  const found = parts.find((part) => nameOf(part) === directive)
  const source = `'nonce-${nonce}'`
  if (found !== undefined) return parts.map((part) => part === found ? `${directive} ${beside(found, source)}` : part)
  const fallback = parts.find((part) => nameOf(part) === 'default-src')
  // Without a fallback there is no restriction that a nonce would have to lift.
  if (fallback === undefined) return parts
  return [...parts, `${directive} ${beside(fallback, source)}`]
}

/** A policy header with an address for reports; one that has reports sent elsewhere keeps to that (CSP3, section 5.3). */
export function withReportUri (header: string, uri: string): string {
  return header.split(',').map((policy) => {
    const names = policy.split(';').map((part) => nameOf(part.trim()))
    if (names.every((name) => name === '') || names.includes('report-uri') || names.includes('report-to')) return policy
    return `${policy.replace(/[;\s]+$/, '')};report-uri ${uri}`
  }).join(',')
}

// 'none' stands alone or is ignored (CSP3, section 2.3.1).
function beside (part: string, source: string): string {
  return [...sourcesOf(part).filter((other) => !/^'none'$/i.test(other)), source].join(' ')
}

function nameOf (part: string): string {
  return (part.split(/\s/, 1)[0] as string).toLowerCase()
}

function sourcesOf (part: string): string[] {
  return part.split(/\s+/).slice(1)
}
