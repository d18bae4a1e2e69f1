import { randomBytes } from 'node:crypto'
import createError from '@fastify/error'
import { isFailure, type Profile } from '../../store/profile.js'
import { INVISIBLE, presentItems, visibleText, visibleJson } from '../../view/text.js'
import { headerPairs, storedRequest, type MaskedValue, type StoredRequest } from '../replay/stored-request.js'

/** Begins each placeholder. It is random, so that no request can contain it. */
const MARK = `masked${randomBytes(8).toString('hex')}`
const PLACEHOLDER = new RegExp(`${MARK}([A-Z0-9_]+)z`)

/**
 * Writes a request that has placeholders for its masked values. `head`: comments about its profile and the differences
 * from the original, none with a line break.
 */
type Format = (request: StoredRequest, head: readonly string[], profile: Profile) => string

const curl: Format = ({ method, origin, target, headers, body, masked }, head) => {
  const impliedHost = origin.replace(/^https?:\/\//i, '')
  const sent = headerPairs(headers).map(([name, value]) => [name, String(value)] as const)
    .filter(([name, value]) => name !== 'host' || value !== impliedHost)
  // A word of a shell cannot contain NUL, and a terminal would interpret other controls.
  const hasBody = body !== undefined && body.isWellFormed() && visibleText(body) === body
  const args = presentItems([
    // The URL is sent as it is: no patterns, no removal of dot segments.
    'curl --silent --show-error --include --globoff --path-as-is',
    headers['accept-encoding'] !== undefined && '--compressed',
    method === 'HEAD' ? '--head' : `--request ${shellWord(method)}`,
    `--url ${shellWord(origin + target)}`,
    ...sent.map(([name, value]) => `--header ${shellWord(name + (value === '' ? ';' : `: ${visibleText(value)}`))}`),
    hasBody && `--data-raw ${shellWord(body)}`
  ])
  const comments = presentItems([
    ...head,
    body !== undefined && !hasBody && 'The body is left out: it has control characters.',
    masked.length > 0 && 'Masked in the profile: set these in the environment, encoded as in the request.',
    ...masked.map(({ env }) => `  ${env}`)
  ])
  return [...comments.map((line) => `# ${line}`), args.join(' \\\n  '), ''].join('\n')
}

/** One word of a shell. A masked value is read from the environment; the command fails when it is not set. */
function shellWord (text: string): string {
  const parts = splitAtPlaceholders(text).map((part, i) => {
    if (i % 2 === 1) return `"\${${part}:?is masked in the profile}"`
    if (part === '') return ''
    return `'${part.replaceAll("'", "'\\''")}'`
  })
  return parts.join('') || "''"
}

const test: Format = ({ method, target, headers, body, bodyKind, masked }, head, profile) => {
  const { status, route, url } = profile
  let purpose = '// It passes as long as the request has the same status as then. Add what should be true.'
  let assertion = `assert.equal(response.statusCode, ${status}, response.body)`
  if (isFailure(profile) && status >= 400) {
    purpose = '// It fails as long as the failure exists, and passes when it is fixed. Add what should be true then.'
    const repaired = status >= 500 ? '< 500' : `!== ${status}`
    const message = "'the status is ' + response.statusCode + ' again: ' + response.body"
    assertion = `assert.ok(response.statusCode ${repaired}, ${message})`
  }
  return presentItems([
    ...head.map((line) => `// ${line}`),
    purpose,
    "import assert from 'node:assert/strict'",
    "import { test } from 'node:test'",
    "import Fastify from 'fastify'",
    '// Change this to the plugin of your application, as fastify-cli loads it. If a function of yours makes the',
    '// whole instance, call it in place of the lines that make and register `app`.',
    "import application from './app.js'",
    ...maskedFunction(masked),
    '',
    `test(${jsText(`${method} ${route?.pattern ?? url}`)}, async (t) => {`,
    '  const app = Fastify()',
    '  t.after(() => app.close())',
    '  await app.register(application)',
    '  const response = await app.inject({',
    `    method: ${jsText(method)},`,
    `    url: ${jsText(target, true)},`,
    body !== undefined && `    payload: ${jsBody(body, bodyKind, '    ')},`,
    `    headers: ${jsValue(headers, '    ')}`,
    '  })',
    `  ${assertion}`,
    '})',
    ''
  ]).join('\n')
}

const ALL: Readonly<Record<string, Format>> = { curl, test }
export const FORMATS = Object.keys(ALL)

const UnknownFormatError = createError('HINDSIGHT_NOT_AVAILABLE',
  `A profile is not available as "%s"; the formats are: ${FORMATS.join(', ')}.`, 404)

/** Writes the request of a profile in a format; throws a `NotSendableError` if the profile has no such request. */
export function writeAs (wanted: string, profile: Profile): { file: string, text: string } {
  const write = Object.hasOwn(ALL, wanted) ? ALL[wanted] : undefined
  if (write === undefined) throw new UnknownFormatError(wanted)
  // No format has to encode or quote the letters, digits and underscores of a placeholder.
  const request = storedRequest(profile, ({ env }) => `${MARK}${env}z`)
  const { bodyProblem, notes } = request
  const { token, status, method, url, time } = profile
  const head = presentItems([
    `Made from the profile ${token} of ${commentText(time)}: ${status} ${commentText(`${method} ${url}`)}`,
    bodyProblem !== undefined && `The body is missing here: ${commentText(bodyProblem)}.`,
    ...notes.map(commentText)
  ])
  return { file: `hindsight-${token}.${write === curl ? 'sh' : 'test.mjs'}`, text: write(request, head, profile) }
}

/** A text for a line of comment: it cannot end the line. */
function commentText (text: string): string {
  return text.replace(INVISIBLE, ' ').slice(0, 300)
}

/**
 * A JavaScript expression for a text with placeholders: `"Bearer " + masked("HINDSIGHT_AUTHORIZATION")`. In a URL, the
 * masked values are percent-encoded.
 */
export function jsText (text: string, isUrl = false): string {
  const masked = (env: string): string => isUrl ? `encodeURIComponent(masked("${env}"))` : `masked("${env}")`
  // JSON is JavaScript.
  const terms = splitAtPlaceholders(text).map((part, i) => i % 2 === 1 ? masked(part) : visibleJson(part))
  return terms.filter((term) => term !== '""').join(' + ') || '""'
}

/** A JavaScript expression for JSON data with placeholders, over several lines. */
export function jsValue (value: unknown, indent = ''): string {
  const json = visibleJson(value, 2)
    // Without the brackets, this name would set the prototype.
    .replace(/^( *)"__proto__":/gm, '$1["__proto__"]:')
    .replaceAll('\n', `\n${indent}`)
  const source = splitAtPlaceholders(json).map((part, i) => i % 2 === 1 ? `" + masked("${part}") + "` : part).join('')
  // Empty strings before and after a masked value. Within a string, quotes are escaped.
  return source.replace(/(?<!\\)"" \+ (?=masked\()|(?<=\)) \+ ""/g, '')
}

/** The body as a JavaScript expression. In JSON, the masked values are those before serialization. */
function jsBody (body: string, kind: StoredRequest['bodyKind'], indent: string): string {
  if (kind === 'json') return `JSON.stringify(${jsValue(JSON.parse(body), indent)})`
  return jsText(body, kind === 'form')
}

/** Splits a text at its placeholders: a literal, the `env` of a masked value, a literal, and so on. */
function splitAtPlaceholders (text: string): string[] {
  return text.split(PLACEHOLDER)
}

/** Lines of JavaScript that define `masked`, the function that reads a masked value; none when nothing is masked. */
function maskedFunction (values: readonly MaskedValue[]): string[] {
  if (values.length === 0) return []
  return [
    '',
    '// The profile has these masked: set them in the environment.',
    ...values.map(({ env }) => `//   ${env}`),
    'function masked (name) {',
    '  const value = process.env[name]',
    "  if (value === undefined) throw new Error(name + ' is not set: the profile has it masked')",
    '  return value',
    '}'
  ]
}
