import { significant, type Token } from './tokens.js'

/** A value of a statement: a literal or a placeholder. */
export interface NamedValue {
  token: Token
  /** The names of the columns and fields that it is compared with or written to. */
  names: readonly string[]
  /** Whether these are certainly the names of columns: a part of a statement may name its results as it likes. */
  isCertain: boolean
  unit: Unit
}

/** A part of a statement whose values belong to the columns in it, such as `lower(token) in (?, ?)`. */
export interface Unit {
  names: string[]
  outer: Unit | null
  /** Whether it is in a clause in which names are those of columns. */
  isCertain: boolean
  hasValue?: boolean
}

/** The statement, or what is in parentheses, in brackets or in `case … end`. */
interface Frame {
  kind: 'statement' | 'group' | 'cast' | 'columns' | 'aliases' | 'case'
  unit: Unit
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
  /** Of `case … when` with a value that is compared. */
  operand?: Unit
}

/** Clauses with values that belong to the columns that are next to them. */
const CERTAIN = new Set(('select where having set returning group order limit offset fetch on update when exec ' +
  'execute').split(' '))
const CLAUSES = new Set([...CERTAIN, ...('from using join values union except intersect insert replace delete merge ' +
  'into with do for window identified').split(' ')])
const ROWS = new Set(['limit', 'offset', 'fetch'])
const KEYWORDS = new Set(('and or xor not null is in like ilike rlike regexp similar between case when then else end ' +
  'all any some exists as by asc desc distinct escape true false default array interval collate ' +
  'duplicate conflict nothing ignore temporary cast').split(' '))
const SECRET_FUNCTION = new RegExp('^(?:[bs]?crypt|argon2\\w*|(?:pgp_\\w+_|aes_|des_)?(?:en|de)crypt(?:_iv|_raw)?|' +
  'md5|sha\\d*|digest|hashbytes|\\w*_hash|hmac\\w*)$', 'i')

const PHRASES = /^(?:password for|identified with|by values|distinct from|(?:system|user) value|= values)$/

const MAX_NAME = 256

/** The name of a column or a field: without quotes; of a path, its last segment. */
export function columnName ({ kind, text }: Token): string {
  if (kind === 'placeholder') return text.slice(1)
  if (text.length > MAX_NAME) return ''
  if (kind !== 'string') return text.replace(/^(?:U&)?["`[]|["`\]]$/gi, '')
  return unquoted(text).replace(/^\{|\}$/g, '').split(/[.,[\]"\s]+/).findLast((segment) => segment !== '') ?? ''
}

export function unquoted (text: string): string {
  return text.replace(/^\w*['"]|['"]$|^(\$\w*\$)|\$\w*\$$/g, '')
}

/** The values of a statement in their order; `hides`: whether a name is secret. A name that is a text becomes one. */
export function namedValues (
  tokens: readonly Token[], hides: (name: string) => boolean, system: string
): NamedValue[] {
  const words = significant(tokens)
  const isKeyed = /^(?:pragma|attach)$/i.test(words[0]?.text ?? '')
  const values: Array<{ token: Token, unit: Unit }> = []
  /** Names that the statement gives to values that may be secrets. */
  const aliases = new Set<string>()
  const frames: Frame[] = []
  let frame = open('statement', unitOf())
  let [isCall, isIdentified] = [false, false]
  // The columns of `insert into t (…)`; null outside of one.
  let inserted: string[] | null = null

  for (const [i, token] of words.entries()) {
    const { kind, text } = token
    if (kind === 'sign') sign(text, words[i - 1], words[i + 1])
    else if (kind === 'word' && isKeyword(text.toLowerCase(), words[i - 1], words[i + 1])) continue
    else if ((kind === 'word' || kind === 'name') && !isText(token, words[i - 1], words[i + 1])) {
      name(token, words[i - 1], words[i + 1])
    } else if (kind === 'string' && isField(words[i - 1], words[i - 2])) frame.unit.names.push(columnName(token))
    else {
      // A variable that is set, or an argument.
      if (text.startsWith('@') && words[i + 1]?.text === '=') {
        frame.unit.names.push(columnName(token))
        if (!isCall) aliases.add(columnName(token))
      }
      values.push({ token, unit: frame.unit })
      frame.unit.hasValue = true
    }
  }
  return values.map(({ token, unit }) => {
    const certain = namesOf(unit, true)
    const isCertain = certain.length > 0 && !certain.some((name) => aliases.has(name))
    return { token, names: namesOf(unit), isCertain, unit }
  })

  function after (outer: Unit | null = null): Unit {
    return unitOf(outer, [], frame.unit.isCertain)
  }

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
    frame.unit = unitOf(null, columns.slice(0, 1), true)
  }

  function sign (text: string, before: Token | undefined, next: Token | undefined): void {
    if (text === '(' || text === '[') {
      const isNamed = before !== undefined && before.kind !== 'sign'
      // A list before that of the columns is one of partitions or hints.
      const isList = inserted !== null && (before?.text === ')' || (inserted.length === 0 && isNamed))
      const word = before?.text.toLowerCase() ?? ''
      const isAliases = isNamed && !KEYWORDS.has(word) && !CLAUSES.has(word) && !frame.unit.isCertain
      const { rows } = frame
      const isColumns = isList && text === '(' && next?.text.toLowerCase() !== 'select'
      if (isColumns) inserted = []
      frame = open(isColumns ? 'columns' : word === 'cast' ? 'cast' : isAliases ? 'aliases' : 'group', frame.unit)
      if (rows !== null) startRow(rows)
    } else if (text === ')' || text === ']') close()
    else if (text === ',') {
      if (frame.columns !== null) frame.unit = unitOf(null, frame.columns.slice(++frame.position).slice(0, 1), true)
      else if (frame.hasItems) frame.unit = after(frame.unit.outer)
    } else if (text === '*' && frame.columns !== null && /^(?:select|distinct|all|[,.])$/i.test(before?.text ?? '')) {
      // It stands for any number of columns.
      frame.columns = []
    } else if (text === ';') frame = open('statement', unitOf())
  }

  /** Whether a word is a keyword, which may begin another unit. */
  function isKeyword (word: string, before: Token | undefined, next: Token | undefined): boolean {
    const isName = before?.text === '.' || next?.text === '.'
    if (isName) return false
    // `replace(name, …)`, `trim(' ' from name)`, `set password for 'user' = …`
    if (word === 'replace' && next?.text === '(') return true
    if ((word === 'from' || word === 'for') && !frame.hasItems) return true
    // `is distinct from`, `overriding system value`, `identified with … by`, `on duplicate key update a = values(a)`
    const phrase = `${before?.text.toLowerCase()} ${word}`
    if (PHRASES.test(phrase)) return true
    if (word === 'and' || word === 'or' || word === 'xor') {
      if (!frame.isBetween) frame.unit = after()
      frame.isBetween = false
    } else if (word === 'between') frame.isBetween = true
    else if (word === 'case') {
      frame = open('case', frame.unit)
      if (next?.text.toLowerCase() !== 'when') frame.operand = frame.unit = after(frame.base)
    } else if (frame.kind === 'case' && word === 'when') frame.unit = frame.operand ?? after()
    else if (frame.kind === 'case' && (word === 'then' || word === 'else')) frame.unit = frame.base
    else if (frame.kind === 'case' && word === 'end') close()
    else if (/^values?$/.test(word) && inserted !== null && frame.kind !== 'columns') {
      // The name of a table such as `api_tokens`.
      frame.rows = inserted.length > 0 ? inserted : frame.unit.names.filter(hides)
      frame.unit = unitOf()
      inserted = null
    } else if (CLAUSES.has(word)) clause(word, next)
    else return KEYWORDS.has(word)
    return true
  }

  function clause (word: string, next: Token | undefined): void {
    if (word === 'insert' || word === 'replace') inserted = []
    if (word === 'with' && inserted !== null && inserted.length > 0) inserted = null
    // The parameters of a procedure have their names, but not those of a statement that it executes.
    isCall = word.startsWith('exec') && next?.text.toLowerCase() !== 'sp_executesql'
    frame.rows = null
    frame.columns = null
    frame.hasItems = !ROWS.has(word)
    // A value of a subquery belongs to the columns that it is compared with.
    const outer = word === 'select' && frame.kind === 'group' ? frame.base : null
    isIdentified ||= word === 'identified'
    const names = word === 'identified' ? ['password'] : ROWS.has(word) ? [word] : []
    frame.unit = unitOf(outer, names, CERTAIN.has(word))
    if (word === 'select' && inserted !== null && inserted.length > 0) startRow(inserted)
    if (word === 'select' || word === 'set') inserted = null
  }

  function name (token: Token, before: Token | undefined, next: Token | undefined): void {
    const name = columnName(token)
    const { names, hasValue } = frame.unit
    const isFunction = next?.text === '(' && inserted === null
    // The table of a column, or the type of a cast.
    if (next?.text === '.' || (frame.kind !== 'columns' && before?.text === ':' && !hides(name))) return
    if (frame.kind === 'cast' && before?.text.toLowerCase() === 'as') return
    const isOther = isFunction || /^exec/i.test(before?.text ?? '')
    if (frame.kind === 'columns') inserted?.push(name)
    else if (isFunction && SECRET_FUNCTION.test(name)) names.push('password')
    else if (isKeyed && /^(?:hex|text)?(?:re)?key$/i.test(name)) names.push('password')
    else if (!isOther || hides(name)) {
      const isAfter = before !== undefined && (before.kind !== 'sign' || before.text === ')')
      const isOfValue = hasValue === true && names.length === 0 && frames.length > 1
      // `json_each(tokens)` has a column `value`, and parameters of `change_password` have names such as `@new`.
      if (frame.kind === 'aliases' && hides(name)) aliases.add('value')
      if (hides(name)) isCall = false
      if (frame.kind === 'aliases' || name.startsWith('@') || (isAfter && (isOfValue || names.some(hides)))) {
        aliases.add(name)
      }
      names.push(name)
      // Values that are compared with the result of a subquery are compared with its columns.
      if (hides(name)) for (let unit = frame.unit.outer; unit !== null; unit = unit.outer) unit.names.push(name)
    }
  }

  /** Whether a name is the value of a column with a secret name: `= "a"`, which is a string in SQLite; `by "a"`. */
  function isText (token: Token, before: Token | undefined, next: Token | undefined): boolean {
    const word = before?.text.toLowerCase() ?? ''
    const isPassword = isIdentified && word === 'by'
    const isCompared = isPassword || /^(?:[=<>:]|like|key)$/.test(word) ||
      (frame.rows === null && frame.columns !== null && /^[(,]$/.test(word))
    // Strings of the others have quotes of their own.
    if (/^(?:postgresql|cockroachdb|mysql|mariadb)$/.test(system) || next?.text === '.') return false
    if (!(isPassword || token.text.startsWith('"')) || !isCompared || !frame.unit.names.some(hides)) return false
    token.kind = 'string'
    return true
  }

  /** Whether a string is a field of JSON or a path to it: `data ->> 'name'`, `data ? 'name'`. */
  function isField (before: Token | undefined, first: Token | undefined): boolean {
    return before?.kind === 'sign' &&
      (before.text.startsWith('?') || (before.text === '>' && /^[->#]$/.test(first?.text ?? '')))
  }
}

function unitOf (outer: Unit | null = null, names: readonly string[] = [], isCertain = false): Unit {
  return { names: [...names], outer, isCertain }
}

/** The names of a unit and of those that it is in; `isCertain`: of those whose names are columns. */
function namesOf (unit: Unit, isCertain = false): readonly string[] {
  const { names, outer } = unit
  const own = isCertain && !unit.isCertain ? [] : names
  return outer === null ? own : [...own, ...namesOf(outer, isCertain)]
}
