import { isValue, significant, type Token } from './tokens.js'

/** A value of a statement: a literal or a placeholder. */
export interface NamedValue {
  token: Token
  /** The names of the columns and fields that it is compared with or written to. */
  names: readonly string[]
}

/** A part of a statement whose values belong to the columns in it, such as `lower(token) in (?, ?)`. */
interface Unit { names: string[], outer: Unit | null }

/** The statement, or what is in parentheses, in brackets or in `case … end`. */
interface Frame {
  kind: 'statement' | 'group' | 'columns' | 'json' | 'case'
  unit: Unit
  /** The unit that it is in. */
  base: Unit
  /** Whether commas separate units: not those between the arguments of a function or the items of `in (…)`. */
  hasItems: boolean
  /** The columns of a row of `values`, or of the select list of `insert … select`, and the position of the item. */
  columns: readonly string[] | null
  position: number
  /** Whether groups in it are rows of these columns. */
  rows: readonly string[] | null
  /** Whether the next `and` belongs to `between`. */
  isBetween: boolean
}

const CLAUSES = new Set(('select from where having set returning group order limit offset fetch on using join values ' +
  'union except intersect insert replace update delete merge when into with do for window identified').split(' '))
const KEYWORDS = new Set(('and or xor not null is in like ilike rlike regexp similar between case when then else end ' +
  'all any some exists as by asc desc distinct escape true false default array interval collate ' +
  'duplicate conflict nothing ignore temporary cast').split(' '))
/** Functions whose arguments are secrets. */
const SECRET_FUNCTION = /^(?:crypt|(?:pgp_sym_|aes_|des_)?(?:en|de)crypt(?:_iv)?|sha1|sha2|digest)$/i
/** Functions with arguments that are names of fields. */
const FIELD_FUNCTION = /json|^(?:set_config|object_construct|hstore)$/i

/** Characters of a name that may be secret. */
const MAX_NAME = 256

/** The name of a column or a field: without quotes; of a path, its last segment. */
export function nameOf ({ kind, text }: Token): string {
  if (kind === 'placeholder') return text.slice(1)
  if (text.length > MAX_NAME) return ''
  if (kind !== 'string') return text.replace(/^(?:U&)?["`[]|["`\]]$/gi, '')
  return unquoted(text).replace(/^\{|\}$/g, '').split(/[.,[\]"\s]+/).findLast((segment) => segment !== '') ?? ''
}

export function unquoted (text: string): string {
  return text.replace(/^\w*['"]|['"]$|^(\$\w*\$)|\$\w*\$$/g, '')
}

/** The values of a statement in their order; `hides` says whether a name is secret. */
export function namedValues (tokens: readonly Token[], hides: (name: string) => boolean): NamedValue[] {
  const words = significant(tokens)
  const values: Array<{ token: Token, unit: Unit }> = []
  let frames: Frame[] = []
  let frame = open('statement', unitOf())
  // The columns of `insert into t (…)`; null outside of one.
  let inserted: string[] | null = null

  for (const [i, token] of words.entries()) {
    const { kind, text } = token
    if (kind === 'sign') sign(text, words[i - 1], words[i + 1])
    else if (kind === 'word' && isKeyword(text.toLowerCase(), words[i - 1], words[i + 1])) continue
    else if (kind === 'word' || kind === 'name') name(token, words[i - 1], words[i + 1])
    else if (kind === 'string' && isField(token, words[i - 1])) frame.unit.names.push(nameOf(token))
    else if (isValue(token)) {
      // A variable that is set.
      if (text.startsWith('@') && words[i + 1]?.text === '=') frame.unit.names.push(nameOf(token))
      values.push({ token, unit: frame.unit })
    }
  }
  return values.map(({ token, unit }) => ({ token, names: namesOf(unit) }))

  function open (kind: Frame['kind'], unit: Unit): Frame {
    const opened: Frame = {
      kind, unit, base: unit, hasItems: kind === 'statement', columns: null, position: 0, rows: null, isBetween: false
    }
    frames.push(opened)
    return opened
  }

  function close (): void {
    if (frames.length > 1) frames.pop()
    frame = frames.at(-1) as Frame
  }

  function startRow (columns: readonly string[]): void {
    frame.columns = columns
    frame.position = 0
    frame.hasItems = true
    frame.unit = unitOf(null, columns.slice(0, 1))
  }

  function sign (text: string, before: Token | undefined, next: Token | undefined): void {
    if (text === '(' || text === '[') {
      const isList = inserted?.length === 0 && before !== undefined && before.kind !== 'sign'
      const isJson = before?.kind === 'word' && FIELD_FUNCTION.test(before.text)
      const { rows } = frame
      const isColumns = isList && text === '(' && next?.text.toLowerCase() !== 'select'
      frame = open(isColumns ? 'columns' : isJson ? 'json' : 'group', frame.unit)
      if (rows !== null) startRow(rows)
    } else if (text === ')' || text === ']') close()
    else if (text === ',') {
      if (frame.columns !== null) frame.unit = unitOf(null, frame.columns.slice(++frame.position).slice(0, 1))
      else if (frame.hasItems) frame.unit = unitOf(frame.unit.outer)
    } else if (text === ';') {
      frames = []
      frame = open('statement', unitOf())
      inserted = null
    }
  }

  /** Whether a word is a keyword, which may begin another unit. */
  function isKeyword (word: string, before: Token | undefined, next: Token | undefined): boolean {
    const isName = before?.text === '.' || next?.text === '.'
    if (isName) return false
    // `replace(name, …)`, `trim(' ' from name)`, `set password for 'user' = …`
    if (word === 'replace' && next?.text === '(') return true
    if ((word === 'from' || word === 'for') && !frame.hasItems) return true
    const previous = before?.text.toLowerCase()
    if (word === 'for' && previous === 'password') return true
    // `is distinct from`, `overriding system value`
    if (word === 'from' && previous === 'distinct') return true
    if (word === 'value' && (previous === 'system' || previous === 'user')) return true
    if (word === 'and' || word === 'or' || word === 'xor') {
      if (!frame.isBetween) frame.unit = unitOf()
      frame.isBetween = false
    } else if (word === 'between') frame.isBetween = true
    else if (word === 'case') frame = open('case', frame.unit)
    else if (frame.kind === 'case' && word === 'when') frame.unit = unitOf(frame.base)
    else if (frame.kind === 'case' && (word === 'then' || word === 'else')) frame.unit = frame.base
    else if (frame.kind === 'case' && word === 'end') close()
    else if (/^values?$/.test(word) && inserted !== null && frame.kind !== 'columns') {
      frame.rows = inserted.length > 0 ? inserted : frame.unit.names
      inserted = null
    } else if (CLAUSES.has(word)) clause(word)
    else return KEYWORDS.has(word)
    return true
  }

  function clause (word: string): void {
    if (word === 'insert' || word === 'replace') inserted = []
    if (word === 'into' && inserted !== null) return
    frame.rows = null
    frame.columns = null
    frame.hasItems = true
    frame.isBetween = false
    // A value of a subquery belongs to the columns that it is compared with.
    const outer = word === 'select' && frame.kind === 'group' ? frame.base : null
    frame.unit = unitOf(outer, word === 'identified' ? ['password'] : [])
    if (word === 'select' && inserted !== null && inserted.length > 0) startRow(inserted)
    if (word === 'select' || word === 'set') inserted = null
  }

  function name (token: Token, before: Token | undefined, next: Token | undefined): void {
    const name = nameOf(token)
    const isFunction = next?.text === '(' && inserted === null
    // The table of a column, or the type of a cast.
    if (frame.kind !== 'columns' && (next?.text === '.' || before?.text === ':')) return
    if (frame.kind === 'columns') inserted?.push(name)
    else if (isFunction && SECRET_FUNCTION.test(name)) frame.unit.names.push('password')
    else if (!isFunction || hides(name)) frame.unit.names.push(name)
  }

  /** Whether a string is the name of a field or a path to it. */
  function isField ({ text }: Token, before: Token | undefined): boolean {
    const content = unquoted(text)
    if (before?.text === '>' || /^\$[.[]/.test(content)) return true
    return frame.kind === 'json' && content.length <= 128 && /^[\w.{},-]+$/.test(content) &&
      (before?.text === '(' || hides(nameOf({ kind: 'string', text })))
  }
}

function unitOf (outer: Unit | null = null, names: readonly string[] = []): Unit {
  return { names: [...names], outer }
}

function namesOf ({ names, outer }: Unit): readonly string[] {
  return names.length > 0 || outer === null ? names : namesOf(outer)
}
