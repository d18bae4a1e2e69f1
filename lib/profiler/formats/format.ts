import type { Profile } from '../profile.js'
import type { StoredRequest } from '../resend/stored-request.js'
import { commentText } from './js-text.js'

/** What a profile is written as. */
export interface Written {
  /** The name of the file. */
  file: string
  type: string
  text: string
}

/** What may be said of a test: the application that it is for. */
export interface FormatOptions {
  /** The specifier that the test imports the application by. */
  app?: string
}

/** One form that a request, or what should become of it, is written in. */
export interface Format {
  name: string
  /** What a menu calls it. */
  label: string
  file: (token: string) => string
  type: string
  write: (request: StoredRequest, profile: Profile, options: FormatOptions) => string
}

/** What every text begins with: where it is from, and what is not as it was. Each line stays a line. */
export function headOf ({ token, lost, notes }: StoredRequest, { status, method, url, time }: Profile): string[] {
  return [
    `Made from the profile ${token} of ${commentText(time)}: ${status} ${commentText(`${method} ${url}`)}`,
    ...lost === null ? [] : [`The body is missing here: ${commentText(lost)}.`],
    ...notes.map(commentText)
  ]
}
