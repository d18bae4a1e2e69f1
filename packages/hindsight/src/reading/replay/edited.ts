import { parse } from 'node:querystring'
import { parsedJson } from '../../call.js'
import { MASKED } from '../../mask/mask.js'
import type { Profile } from '../../store/profile.js'
import { visibleText, visibleLine } from '../../view/text.js'
import { NotSendableError, storedRequest, type StoredRequest, type ValueOf } from './stored-request.js'

/** A request as the fields of a form have it. */
export interface RequestText {
  method: string
  /** The path with the query. */
  url: string
  /** One in each line. */
  headers: string
  body: string
}

export function textOf (
  { method, target, headers, body = '' }: Pick<StoredRequest, 'method' | 'target' | 'headers' | 'body'>
): RequestText {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().map((one) => `${name}: ${visibleLine(one)}`))
  return { method, url: target, headers: lines.join('\n'), body }
}

/** A text of a form with the hidden characters of the known text, which the form shows as `⟨U+202E⟩`. */
export function restoredText (given: string, known: string): string {
  const hidden = [...new Set(known)].filter((character) => visibleText(character) !== character)
  return hidden.reduce((text, character) => text.replaceAll(visibleText(character), character), given)
}

/** JSON with indentation, where that changes nothing else, such as the digits of a number; other text as it is. */
export function indentedJson (text: string): string {
  const data = parsedJson(text)
  return JSON.stringify(data) === text ? JSON.stringify(data, null, 2) : text
}

/** A text without the line breaks that forms change. */
export function unixLines (text: string): string {
  return text.replace(/\r\n?/g, '\n')
}

/**
 * The request of edited fields, whose masked values have the places that they have in the request of a profile. Throws
 * a `NotSendableError`.
 */
export function editedRequest (
  { method, url, headers, body }: RequestText, original: Profile, valueOf?: ValueOf
): StoredRequest {
  if (!/^\/(?!\/)[^\s\0]*$/.test(url)) throw new NotSendableError('Its URL has to begin with one "/", without blanks.')
  const fields = Object.create(null) as Record<string, string[]>
  for (const line of headers.split('\n').filter((line) => line.trim() !== '')) {
    const [, name = '', value = ''] = /^([^\s:]+)\s*:(.*)$/.exec(line.trim()) ?? []
    if (name === '') throw new NotSendableError(`"${visibleLine(line).slice(0, 80)}" is not "name: value".`)
    ;(fields[name.toLowerCase()] ??= []).push(value.trim())
  }
  const parsed = body.includes(MASKED) ? parsedBody(body, String(fields['content-type'] ?? '')) : undefined
  const { bodyProblem: _, ...request } = storedRequest({
    ...original,
    method: method.trim().toUpperCase(),
    collectors: { request: { target: url, headers: fields, body: parsed } }
  }, valueOf)
  const [note] = request.notes
  if (note !== undefined) throw new NotSendableError(note)
  return { ...request, ...parsed === undefined && body !== '' && { body } }
}

/** A body in which masked values have places; undefined: it is sent as it is. */
function parsedBody (text: string, type: string): unknown {
  if (/json/i.test(type)) return parsedJson(text)
  if (type.startsWith('application/x-www-form-urlencoded')) return { ...parse(text) }
  return text
}
