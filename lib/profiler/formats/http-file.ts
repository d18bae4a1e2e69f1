import { visible } from '../../view/visible.js'
import { bodyPieces, headerPieces, joined, targetPieces, type Piece } from '../resend/pieces.js'
import { commentText, seen } from './js-text.js'
import { headOf, type Format } from './format.js'

/** A file for the HTTP clients of editors. */
export const httpFile: Format = {
  name: 'http',
  label: 'HTTP file',
  file: (token) => `hindsight-${token}.http`,
  type: 'text/plain; charset=utf-8',
  write: (request, profile) => {
    const { method, origin, host, gaps } = request
    const notes: string[] = []
    const headers = headerPieces(request).filter(([name, value]) => {
      const text = joined(value, () => 'x')
      const fits = !name.startsWith('#') && !hasTemplate(value) && text === text.trim() && text === visible(text)
      if (!fits) notes.push(`The header ${commentText(name)} is left out: this format would take it for something else.`)
      return fits
    })
    const body = bodyOf(bodyPieces(request))
    if (body === undefined) notes.push('The body is left out: this format would take a line of it for something else.')
    const isMethod = /^[A-Z][A-Z-]*$/.test(method)
    if (!isMethod) notes.push('The method is none that this format knows: it says GET.')
    return [
      ...headOf(request, profile).map((line) => `# ${line}`),
      ...notes.map((note) => `# ${note}`),
      ...gaps.length === 0 ? [] : ['# The profile has these masked: write them here, as they stand in the request.'],
      ...gaps.flatMap(({ env, where }) => [`# ${commentText(where)}`, `@${env} = masked`]),
      '',
      `${isMethod ? method : 'GET'} ${written([origin, ...targetPieces(request)])} HTTP/1.1`,
      ...host === null ? [] : [`host: ${host}`],
      ...headers.map(([name, value]) => `${name}: ${written(value)}`),
      '',
      ...body === null || body === undefined ? [] : [body, '']
    ].join('\n')
  }
}

function written (pieces: readonly Piece[]): string {
  return joined(pieces, ({ env }) => `{{${env}}}`)
}

function hasTemplate (pieces: readonly Piece[]): boolean {
  return pieces.some((piece) => typeof piece === 'string' && piece.includes('{{'))
}

// Lines of a body may begin another request, read a file or run a script; two braces are a variable.
function bodyOf (pieces: Piece[] | null): string | null | undefined {
  if (pieces === null) return null
  const isJson = pieces.length > 0 && typeof pieces[0] === 'string' && /^[[{"]/.test(pieces[0]) && isJsonText(joined(pieces, () => ''))
  // Within JSON they stand in texts only.
  const safe = isJson ? pieces.map((piece) => typeof piece === 'string' ? seen(piece.replace(/\{(?=\{)/g, '\\u007b')) : piece) : pieces
  const plain = joined(safe, () => '')
  if (hasTemplate(safe) || plain !== visible(plain) || /^\s*(?:[#>]|\/\/|<(?![A-Za-z/!?]))/m.test(plain)) return undefined
  return written(safe)
}

function isJsonText (text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
