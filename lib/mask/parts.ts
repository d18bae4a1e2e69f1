/** What stands where a secret stood. */
export const MASKED = '******'

/** What the parts of a mask have of each other. */
export interface MaskParts {
  /** Whether no pattern was given: then nothing but what is asked for by name is looked for. */
  readonly idle: boolean
  /** Whether the value under a name is a secret. */
  hides: (name: string) => boolean
  /** Hides the values that the mask was told of. */
  redact: (text: string) => string
  text: (text: string, nested?: number) => string
  url: (url: string) => string
  /** `name=value` pairs of a query, a fragment or a form. */
  parameters: (text: string, nested?: number) => string
  header: (name: string, value: string) => string
}

/** Percent-decodes; null where that is not possible. */
export function percentDecoded (text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
