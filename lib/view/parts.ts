/** Markup that stands on many pages: whoever keeps it keeps its octets, too. */
export class KeptMarkup {
  readonly #markup: string
  #octets: Buffer | null = null

  constructor (markup: string) {
    this.#markup = markup
  }

  /** What is sent of it: encoded once. */
  get octets (): Buffer {
    return (this.#octets ??= Buffer.from(this.#markup))
  }

  toString (): string {
    return this.#markup
  }
}

/** A piece of a page, in the order in which they are sent. */
export type Part = string | KeptMarkup

/** A page as it is sent: only what is new on it is encoded. */
export function octetsOf (parts: readonly Part[]): Buffer {
  let most = 0
  for (const part of parts) most += typeof part === 'string' ? 3 * part.length : part.octets.length
  const page = Buffer.allocUnsafeSlow(most)
  let at = 0
  let text = ''
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part
      continue
    }
    at += page.write(text, at)
    text = ''
    page.set(part.octets, at)
    at += part.octets.length
  }
  at += page.write(text, at)
  return page.subarray(0, at)
}
