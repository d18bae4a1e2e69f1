const MORE = /… \(([\d,.\s]+ more (?:bytes|characters|items|fields))\)$/
const NO_VALUE = /^\[(?:binary, \d+ bytes|stream |file |too deep\]|circular\]|unreadable: |function )/

/** What was left out behind a text, in words; null where all of it is there. */
export function withoutMore (text: string): string | null {
  return MORE.exec(text)?.[1] ?? null
}

/** Why a value of a profile is not the one that came; null where it is. */
export function lossOf (value: unknown, depth = 0): string | null {
  if (typeof value === 'string') {
    const more = withoutMore(value)
    if (more !== null) return `it was cut: ${more}`
    return NO_VALUE.test(value) ? `the profile has in its place only ${value.slice(0, 80)}` : null
  }
  if (typeof value !== 'object' || value === null || depth > 32) return null
  if (Object.hasOwn(value, '…')) return 'it was cut'
  for (const item of Object.values(value)) {
    const loss = lossOf(item, depth + 1)
    if (loss !== null) return loss
  }
  return null
}
