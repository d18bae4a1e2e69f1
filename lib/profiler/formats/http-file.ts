import { escapeInvisible } from '../../view/json.js'
import { visible } from '../../view/visible.js'
import { splitAtGaps } from '../replay/stored-request.js'
import type { Format } from './formats.js'
import { commentText } from './source-text.js'

/** A file for the HTTP clients of editors. */
export const httpFile: Format = {
  name: 'http',
  label: 'HTTP file',
  extension: '.http',
  type: 'text/plain; charset=utf-8',
  write: ({ request, message: { method, target, body }, headers, head }) => {
    const { origin, gaps } = request
    const write = (text: string): string =>
      splitAtGaps(text, request).map((part, i) => i % 2 === 1 ? `{{${part}}}` : part).join('')
    const isWritable = ([name, value]: readonly [string, string]): boolean =>
      !name.startsWith('#') && !value.includes('{{') && value === value.trim() && value === visible(value)
    const text = body === null ? '' : request.body?.kind === 'json' ? jsonText(body) : body
    const isMethod = /^[A-Z][A-Z-]*$/.test(method)
    const comments = [
      ...head,
      ...headers.filter((pair) => !isWritable(pair)).map(([name]) =>
        `The header ${commentText(name)} is left out: this format would interpret it.`),
      ...isWritableBody(text) ? [] : ['The body is left out: this format would interpret it.'],
      ...isMethod ? [] : ['The method is not one of this format: it is GET here.'],
      ...gaps.length === 0 ? [] : ['The profile has these masked: write them here, encoded as in the request.']
    ]
    return [
      ...comments.map((line) => `# ${line}`),
      ...gaps.flatMap(({ env, where }) => [`# ${commentText(where)}`, `@${env} = masked`]),
      '',
      `${isMethod ? method : 'GET'} ${write(origin + target)} HTTP/1.1`,
      ...headers.filter(isWritable).map(([name, value]) => `${name}: ${write(value)}`),
      '',
      ...text !== '' && isWritableBody(text) ? [write(text), ''] : []
    ].join('\n')
  }
}

// In JSON, braces that would begin a variable are within strings, where they can be escaped.
function jsonText (json: string): string {
  return escapeInvisible(json.replace(/\{(?=\{)/g, '\\u007b'))
}

// A line may begin another request, read a file or run a script; two braces begin a variable.
function isWritableBody (text: string): boolean {
  return !text.includes('{{') && text === visible(text) && !/^\s*(?:[#>]|\/\/|<(?![A-Za-z/!?]))/m.test(text)
}
