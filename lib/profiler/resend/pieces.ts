import { Masked, type Gap, type Text } from './masked.js'
import type { StoredRequest } from './stored-request.js'

/** How a value that is put into a gap has to be written there. */
export type Writing = 'raw' | 'percent' | 'json'

/** A piece of what is sent: text as it is, or a gap. */
export type Piece = string | { gap: Gap, as: Writing }

/** The pieces of one text. */
export function piecesOf (text: Text, as: Writing = 'raw', encode: (literal: string) => string = (literal) => literal): Piece[] {
  if (typeof text === 'string') return text === '' ? [] : [encode(text)]
  return text.literals.flatMap((literal, i): Piece[] => [...i === 0 ? [] : [{ gap: text.gap, as }], ...literal === '' ? [] : [encode(literal)]])
}

/** Path and query. */
export function targetPieces ({ path, query }: StoredRequest): Piece[] {
  return merged([
    ...path.flatMap((segment): Piece[] => ['/', ...piecesOf(segment, 'percent')]),
    ...query.flatMap((pair, i): Piece[] => [i === 0 ? '?' : '&', ...piecesOf(pair, 'percent')])
  ])
}

/** All headers but `host`, cookies in one. */
export function headerPieces ({ headers, cookies }: StoredRequest): Array<[name: string, value: Piece[]]> {
  const own = headers.map(([name, value]): [string, Piece[]] => [name, piecesOf(value)])
  if (cookies.length === 0) return own
  return [...own, ['cookie', merged(cookies.flatMap((pair, i): Piece[] => [...i === 0 ? [] : ['; '], ...piecesOf(pair)]))]]
}

/** The body as it is written; null where there is none. */
export function bodyPieces ({ body }: StoredRequest): Piece[] | null {
  if (body === null) return null
  if (body.kind === 'text') return piecesOf(body.text)
  if (body.kind === 'json') return merged(jsonPieces(body.value))
  return merged(body.fields.flatMap(([name, value], i): Piece[] => [`${i === 0 ? '' : '&'}${formText(name)}=`, ...piecesOf(value, 'percent', formText)]))
}

/** Pieces as one text: `put` says what stands for a gap. */
export function joined (pieces: readonly Piece[], put: (gap: Gap, as: Writing) => string): string {
  return pieces.map((piece) => typeof piece === 'string' ? piece : put(piece.gap, piece.as)).join('')
}

function jsonPieces (value: unknown): Piece[] {
  if (value instanceof Masked) return ['"', ...piecesOf(value, 'json', (literal) => JSON.stringify(literal).slice(1, -1)), '"']
  if (Array.isArray(value)) return ['[', ...value.flatMap((item, i) => [i === 0 ? '' : ',', ...jsonPieces(item)]), ']']
  if (typeof value !== 'object' || value === null) return [JSON.stringify(value) ?? 'null']
  return ['{', ...Object.entries(value).flatMap(([name, item], i) => [`${i === 0 ? '' : ','}${JSON.stringify(name)}:`, ...jsonPieces(item)]), '}']
}

// As the forms of browsers do (URL Standard, section 5.2).
function formText (text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1)
}

/** The same pieces, texts that stand beside each other as one. */
export function merged (pieces: readonly Piece[]): Piece[] {
  const all: Piece[] = []
  for (const piece of pieces) {
    const last = all.at(-1)
    if (typeof piece === 'string' && typeof last === 'string') all[all.length - 1] = last + piece
    else if (piece !== '') all.push(piece)
  }
  return all
}
