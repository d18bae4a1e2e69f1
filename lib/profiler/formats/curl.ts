import { visible } from '../../view/visible.js'
import { bodyPieces, headerPieces, merged, targetPieces, type Piece } from '../resend/pieces.js'
import { headOf, type Format } from './format.js'
import { commentText } from './js-text.js'

/** A command for POSIX shells. */
export const curl: Format = {
  name: 'curl',
  label: 'curl',
  file: (token) => `hindsight-${token}.sh`,
  type: 'text/plain; charset=utf-8',
  write: (request, profile) => {
    const { method, origin, host, gaps } = request
    const headers = headerPieces(request)
    const body = bodyPieces(request)
    const isPlain = body === null || isPrintable(body)
    const has = (name: string): boolean => headers.some(([one]) => one === name)
    const args = [
      // Nothing in the URL is a pattern, or put in order.
      'curl --silent --show-error --include --globoff --path-as-is',
      ...has('accept-encoding') ? ['--compressed'] : [],
      method === 'HEAD' ? '--head' : `--request ${quoted([method])}`,
      `--url ${quoted([origin, ...targetPieces(request)])}`,
      ...host !== null && host !== origin.replace(/^https?:\/\//i, '') ? [`--header ${quoted([`host: ${host}`])}`] : [],
      ...headers.map(([name, value]) => `--header ${quoted(value.length === 0 ? [`${name};`] : [`${name}: `, ...value.map(octets)])}`),
      // What curl would add by itself was not there.
      ...['accept', 'user-agent', ...body === null ? [] : ['content-type']].filter((name) => !has(name)).map((name) => `--header '${name}:'`),
      ...body === null ? [] : [isPlain ? `--data-raw ${quoted(body)}` : '--data-binary @-']
    ]
    return [
      ...headOf(request, profile).map((line) => `# ${line}`),
      ...gaps.length === 0 ? [] : ['# The profile has these masked: set them in the environment, written as they stand in the request.'],
      ...gaps.map(({ env, where }) => `#   ${env}: ${commentText(where)}`),
      (body === null || isPlain ? '' : `${printed(body)} | `) + args.join(' \\\n  '),
      ''
    ].join('\n')
  }
}

function quoted (pieces: readonly Piece[]): string {
  return merged(pieces).map((piece) => typeof piece === 'string' ? `'${piece.replaceAll("'", "'\\''")}'` : variable(piece.gap.env)).join('') || "''"
}

function variable (env: string): string {
  return `"\${${env}:?is masked in the profile}"`
}

// Without what a screen would take for its own, and whole: a shell's word has no NUL.
function printed (pieces: readonly Piece[]): string {
  const format = pieces.map((piece) => typeof piece === 'string'
    ? [...Buffer.from(piece)].map((octet) => octet >= 0x20 && octet < 0x7f && octet !== 0x27 && octet !== 0x5c ? octet === 0x25 ? '%%' : String.fromCharCode(octet) : `\\${octet.toString(8).padStart(3, '0')}`).join('')
    : '%s').join('')
  return ['printf', `'${format}'`, ...pieces.filter((piece) => typeof piece !== 'string').map(({ gap }) => variable(gap.env))].join(' ')
}

function isPrintable (pieces: readonly Piece[]): boolean {
  return pieces.every((piece) => typeof piece !== 'string' || (piece.isWellFormed() && visible(piece) === piece))
}

// Node.js has handed out each octet as a character.
function octets (piece: Piece): Piece {
  return typeof piece === 'string' ? visible(Buffer.from(piece, 'latin1').toString('utf8')) : piece
}
