import { visible } from '../../view/visible.js'
import { splitAtPlaceholders } from '../replay/stored-request.js'
import type { Format } from './formats.js'
import { commentText } from './source-text.js'

/** A command for POSIX shells. */
export const curl: Format = {
  name: 'curl',
  label: 'curl',
  extension: '.sh',
  type: 'text/plain; charset=utf-8',
  write: ({ request: { masked }, message: { method, body }, url, headers, head }) => {
    const has = (wanted: string): boolean => headers.some(([name]) => name === wanted)
    // curl would add these headers.
    const implied = ['accept', 'user-agent', ...body === undefined ? [] : ['content-type']].filter((name) => !has(name))
    const hasBody = body !== undefined && isPrintable(body)
    const args = [
      // The URL is sent as it is: no patterns, no removal of dot segments.
      'curl --silent --show-error --include --globoff --path-as-is',
      ...has('accept-encoding') ? ['--compressed'] : [],
      method === 'HEAD' ? '--head' : `--request ${quoted(method)}`,
      `--url ${quoted(url)}`,
      ...headers.map(([name, value]) => `--header ${quoted(name + (value === '' ? ';' : `: ${utf8(value)}`))}`),
      ...implied.map((name) => `--header '${name}:'`),
      ...hasBody ? [`--data-raw ${quoted(body)}`] : []
    ]
    const comments = [
      ...head,
      ...body === undefined || hasBody ? [] : ['The body is left out: it has control characters.'],
      ...masked.length === 0 ? [] : ['Masked in the profile: set these in the environment, encoded as in the request.'],
      ...masked.map(({ env, where }) => `  ${env}: ${commentText(where)}`)
    ]
    return [...comments.map((line) => `# ${line}`), args.join(' \\\n  '), ''].join('\n')
  }
}

/** One word of a shell. A masked value is read from the environment; the command fails when it is not set. */
function quoted (text: string): string {
  const parts = splitAtPlaceholders(text).map((part, i) => {
    if (i % 2 === 1) return `"\${${part}:?is masked in the profile}"`
    return part === '' ? '' : `'${part.replaceAll("'", "'\\''")}'`
  })
  return parts.join('') || "''"
}

// A word of a shell cannot contain NUL, and a terminal would interpret other controls.
function isPrintable (text: string): boolean {
  return text.isWellFormed() && visible(text) === text
}

// Node.js reads each octet of a header as a character.
function utf8 (value: string): string {
  return visible(Buffer.from(value, 'latin1').toString('utf8'))
}
