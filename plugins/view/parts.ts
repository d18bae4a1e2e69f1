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

const MAX_RETAINED = 1024 * 1024
let scratch = Buffer.allocUnsafeSlow(128 * 1024)

/** A page as it is sent: only what is new on it is encoded. */
export function octetsOf (parts: readonly Part[]): Buffer {
  let at = 0
  let text = ''
  const reserve = (bytes: number): void => {
    if (at + bytes <= scratch.length) return
    const larger = Buffer.allocUnsafeSlow(2 * (at + bytes))
    scratch.copy(larger, 0, 0, at)
    scratch = larger
  }
  const write = (): void => {
    reserve(3 * text.length)
    at += scratch.write(text, at)
    text = ''
  }
  for (const part of parts) {
    if (typeof part === 'string') {
      text += part
      continue
    }
    write()
    const { octets } = part
    reserve(octets.length)
    at += octets.copy(scratch, at)
  }
  write()
  const page = Buffer.from(scratch.subarray(0, at))
  if (scratch.length > MAX_RETAINED) scratch = Buffer.allocUnsafeSlow(128 * 1024)
  return page
}
