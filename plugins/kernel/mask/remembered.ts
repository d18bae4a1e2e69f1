const MAX_KNOWN = 1_000
const MAX_NAMES = 100
const MAX_NAME = 100
/** Longer texts hardly ever come back. */
const MAX_LENGTH = 300

/** What masks a text, remembered: most headers and lines are the same again and again. Bounded, whatever is sent. */
export function remembered (mask: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>()
  return text => {
    const shown = known.get(text)
    if (shown !== undefined) return shown
    if (text.length > MAX_LENGTH) return mask(text)
    if (known.size >= MAX_KNOWN) known.clear()
    // A copy: part of a text would keep the whole of it in memory.
    const copy = Buffer.from(text).toString()
    const masked = mask(copy)
    known.set(copy, masked)
    return masked
  }
}

/** The same for the values of headers, by their names. */
export function rememberedHeader (mask: (name: string, value: string) => string): (name: string, value: string) => string {
  const known = new Map<string, (value: string) => string>()
  return (name, value) => {
    let ofName = known.get(name)
    if (ofName === undefined) {
      if (name.length > MAX_NAME) return mask(name, value)
      if (known.size >= MAX_NAMES) known.clear()
      const copy = Buffer.from(name).toString()
      known.set(copy, ofName = remembered(text => mask(copy, text)))
    }
    return ofName(value)
  }
}
