import { sharedText } from '../profile.js'

/** How deep into a profile shared parts are looked for: the frame of an exception is the deepest. */
const MAX_DEPTH = 4
/** In a longer log it is not worth looking. */
const MAX_LOGS = 100

// Nothing on the way to a shared part has these in its name.
const NAME_END = '\0'
const PLACE_END = '\u0001'

type Branch = Record<string, unknown>

/** The parts that profiles of one chunk have in common, each written once. */
export class ChunkParts {
  readonly texts: string[] = []
  /** Where in a profile the number of a part stands for it: most profiles of a chunk have them in the same places. */
  readonly layouts: string[] = []
  readonly #numbers = new Map<object, number>()
  #paths: string[] = []
  /** Characters of all parts. */
  length = 0

  /** A profile with numbers in place of its shared parts; which of its values those are says the layout. */
  extract (profile: Branch): { rest: unknown, layout: number } {
    this.#paths = []
    const rest = this.#stripped(profile, '', 0)
    const layout = this.#paths.join(PLACE_END)
    const known = this.layouts.indexOf(layout)
    return { rest, layout: known === -1 ? this.layouts.push(layout) - 1 : known }
  }

  // Only what holds a shared part is copied.
  #stripped (branch: object, path: string, depth: number): unknown {
    let copy: Branch | null = null
    for (const name in branch) {
      const value = (branch as Branch)[name]
      if (typeof value !== 'object' || value === null || (depth === 0 && (name === 'events' || (name === 'logs' && (value as unknown[]).length > MAX_LOGS)))) continue
      const place = path === '' ? name : path + NAME_END + name
      const text = sharedText(value)
      const stripped = text !== undefined ? this.#number(value, text, place) : depth < MAX_DEPTH ? this.#stripped(value, place, depth + 1) : value
      if (stripped === value) continue
      copy ??= (Array.isArray(branch) ? [...branch] : { ...branch }) as Branch
      copy[name] = stripped
    }
    return copy ?? branch
  }

  #number (part: object, text: string, place: string): number {
    this.#paths.push(place)
    return this.#add(part, text)
  }

  /** The number of a part that stands outside of the layout; undefined where it is not shared. */
  numberOf (part: object): number | undefined {
    const text = sharedText(part)
    return text === undefined ? undefined : this.#add(part, text)
  }

  #add (part: object, text: string): number {
    const known = this.#numbers.get(part)
    if (known !== undefined) return known
    const number = this.texts.push(text) - 1
    this.#numbers.set(part, number)
    this.length += text.length
    return number
  }
}

/** Puts the parts back where their numbers stand. */
export function restore (rest: Branch, layout: string, part: (number: number) => unknown): void {
  for (const place of layout === '' ? [] : layout.split(PLACE_END)) {
    const names = place.split(NAME_END)
    const last = names.pop() ?? ''
    const holder = names.reduce<unknown>((branch, name) => (branch as Branch)[name], rest) as Branch
    holder[last] = part(holder[last] as number)
  }
}
