import { MASKED } from '../../mask/mask.js'

/** What a profile has masked, and whoever sends the request again has to say. */
export interface Gap {
  /** Such as `authorization`, `cookie.sid`, `query.key` or `body.user.password`: no other of the request has it. */
  name: string
  /** The same as the name of an environment variable. */
  env: string
  /** Where it stands, in words. */
  where: string
  /** Whether the request means nothing without it; others are left out. */
  required: boolean
}

/** A text in which something is masked. */
export class Masked {
  readonly gap: Gap
  readonly text: string

  constructor (gap: Gap, text: string) {
    this.gap = gap
    this.text = text
  }

  /** What stands around the places of the value. */
  get literals (): string[] {
    return this.text.split(MASKED)
  }
}

/** A text as it is, or one with gaps. */
export type Text = string | Masked

/** Gives gaps their names. */
export class Gaps {
  readonly list: Gap[] = []
  readonly #taken = new Set<string>()

  /** The text itself where nothing in it is masked. */
  text (text: string, name: string, where: string, required = false): Text {
    if (!text.includes(MASKED)) return text
    const plain = name.replace(/[^\w.[\]-]/g, '_').slice(0, 80)
    let [free, number] = [plain, 1]
    while (this.#taken.has(envOf(free))) free = `${plain}_${++number}`
    this.#taken.add(envOf(free))
    const gap = { name: free, env: envOf(free), where, required }
    this.list.push(gap)
    return new Masked(gap, text)
  }
}

function envOf (name: string): string {
  return `HINDSIGHT_${name.toUpperCase().replace(/[^A-Z0-9]+/g, '_').replace(/^_+|_+$/g, '')}`
}
