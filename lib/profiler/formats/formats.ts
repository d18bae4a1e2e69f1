import type { Profile } from '../profile.js'
import { requestWithPlaceholders, type FilledRequest } from '../replay/fill.js'
import { storedRequest, type StoredRequest } from '../replay/stored-request.js'
import { har } from './har.js'
import { curl, fetchFormat, httpFile } from './snippets.js'
import { commentText } from './source-text.js'
import { test } from './test.js'

/** A request as a format receives it. */
export interface FormatInput {
  request: StoredRequest
  /** The request with placeholders for the values that are masked. */
  message: FilledRequest
  /** The absolute URL, with placeholders. */
  url: string
  /** The headers, a repeated one more than once, without a `host` that the URL implies. */
  headers: ReadonlyArray<readonly [name: string, value: string]>
  profile: Profile
  /** Lines that say where the request is from, and what is different now. None of them has a line break. */
  head: string[]
  /** The specifier by which a test imports the application. */
  app: string
}

/** One form in which a request is written. */
export interface Format {
  name: string
  /** The end of the file's name. */
  extension: string
  /** The media type. */
  type: string
  write: (input: FormatInput) => string
}

/** The forms of a request, in the order of the menu. */
export const FORMATS: readonly Format[] = [curl, fetchFormat, httpFile, har, test]

/** Writes the request of a profile in one form; throws a `NotSendableError` when the profile has none. */
export function writeAs (
  format: Format, profile: Profile, { app = './app.js' }: { app?: string } = {}
): { file: string, type: string, text: string } {
  const request = storedRequest(profile)
  const message = requestWithPlaceholders(request)
  const { origin, bodyProblem, notes } = request
  const { token, status, method, url, time } = profile
  const head = [
    `Made from the profile ${token} of ${commentText(time)}: ${status} ${commentText(`${method} ${url}`)}`,
    ...bodyProblem === undefined ? [] : [`The body is missing here: ${commentText(bodyProblem)}.`],
    ...notes.map(commentText)
  ]
  const impliedHost = origin.replace(/^https?:\/\//i, '')
  const headers = Object.entries(message.headers)
    .flatMap(([name, values]) => [values].flat().map((value) => [name, value] as const))
    .filter(([name, value]) => name !== 'host' || value !== impliedHost)
  const text = format.write({ request, message, url: origin + message.target, headers, profile, head, app })
  return { file: `hindsight-${token}${format.extension}`, type: format.type, text }
}
