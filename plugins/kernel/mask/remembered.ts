const MAX_KNOWN = 1_000
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
