import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

export interface Mail { to: string, subject: string }

/** What sends a mail; throws if it was not sent. */
export type Send = (mail: Mail) => Promise<void>

const ATTEMPTS = 3
const BACKOFF = 100

/** A queue of mails in this process. Each attempt has a profile; its parent is the request that has added the mail. */
export class MailQueue {
  readonly #app: FastifyInstance
  readonly #send: Send
  #added = 0
  #last: Promise<void> = Promise.resolve()

  constructor (app: FastifyInstance, send: Send) {
    this.#app = app
    this.#send = send
  }

  /** Adds a mail; `parent` is `request.hindsight.token`. */
  add (mail: Mail, parent: string | null): void {
    const job = { id: ++this.#added, queuedAt: Date.now(), parent: parent ?? undefined }
    this.#last = this.#last.then(async () => { await this.#try(mail, job, 1) })
  }

  /** Resolves when all mails were sent, or given up. */
  async drain (): Promise<void> {
    await this.#last
  }

  async #try (mail: Mail, job: { id: number, queuedAt: number, parent: string | undefined }, attempt: number): Promise<void> {
    try {
      await this.#app.hindsight.profile('send mail', { ...job, attempt, input: mail }, async () => { await this.#send(mail) })
    } catch (error) {
      this.#app.log.error({ err: error, attempt }, 'Mail not sent')
      if (attempt === ATTEMPTS) return
      await sleep(BACKOFF)
      await this.#try(mail, job, attempt + 1)
    }
  }
}
