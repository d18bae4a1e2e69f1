import { createHash, randomBytes } from 'node:crypto'
import { Tokens } from '@fastify/csrf'

const tokens = new Tokens({ userInfo: true })
const PURPOSE = 'profiler'

/** Gives the tokens without which nothing of the profiler is changed: pages of another origin cannot read them. */
export class FormTokens {
  readonly #secret: string

  /** Processes that share a secret take each other's tokens. */
  constructor (secret: string = randomBytes(32).toString('hex')) {
    this.#secret = createHash('sha256').update(`profiler forms\n${secret}`).digest('hex')
  }

  create (): string {
    return tokens.create(this.#secret, PURPOSE)
  }

  accepts (token: unknown): boolean {
    return typeof token === 'string' && tokens.verify(this.#secret, token, PURPOSE)
  }
}
