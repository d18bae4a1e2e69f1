import { createHash, randomBytes } from 'node:crypto'
import type { SessionStore } from '../session/session-store.js'

/** Longer than any cookie lives (RFC 6265bis, section 5.5), and so than any session that a mark is to end. */
const LIFETIME = 400 * 24 * 60 * 60 * 1000

type Kept = Parameters<SessionStore['set']>[1]

/**
 * The mark that a user's logins bear, kept beside the sessions: with a new one all sessions that bear another are over,
 * in all processes that share the store, and no clocks have to agree.
 */
export class LoginMarks {
  readonly #store: SessionStore
  readonly #firewall: string

  constructor (store: SessionStore, firewall: string) {
    this.#store = store
    this.#firewall = firewall
  }

  /** The mark that a login has to bear; empty where the user's sessions were never ended. */
  async current (identifier: string): Promise<string> {
    return await new Promise((resolve, reject) => {
      this.#store.get(this.#keyOf(identifier), (error, kept) => {
        if (error && (error as NodeJS.ErrnoException).code !== 'ENOENT') reject(error)
        else resolve((kept as { mark?: string } | null | undefined)?.mark ?? '')
      })
    })
  }

  /** Ends all sessions in which the user is logged in. */
  async renew (identifier: string): Promise<void> {
    const cookie = { originalMaxAge: LIFETIME, expires: new Date(Date.now() + LIFETIME) }
    await new Promise<void>((resolve, reject) => {
      this.#store.set(this.#keyOf(identifier), { mark: randomBytes(12).toString('base64url'), cookie } as unknown as Kept, (error) => {
        if (error) reject(error)
        else resolve()
      })
    })
  }

  // Ids of sessions are signed: no cookie leads here.
  #keyOf (identifier: string): string {
    return `logins-${createHash('sha256').update(JSON.stringify([this.#firewall, identifier])).digest('base64url')}`
  }
}
