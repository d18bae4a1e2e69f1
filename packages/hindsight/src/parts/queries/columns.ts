import { isValue, jsonKeys, KEYWORDS, significant, type Token } from './tokens.js'

/** A value of a statement: a literal or a placeholder. */
export interface NamedValue {
  token: Token
  /** The column that it is compared with or written to, '' without one; undefined: that is not certain. */
  column: string | undefined
}

/** The name of a column or a field: without quotes; of a path, its last segment. */
export function columnName ({ kind, text }: Token): string {
  if (kind === 'placeholder') return text.slice(1)
  if (kind !== 'string' && !text.startsWith('"$')) return text.replace(/^(?:U&)?["`[]|["`\]]$/gi, '')
  return segmentsOf(text).at(-1) ?? ''
}

function segmentsOf (path: string): string[] {
  return unquoted(path).replace(/^\{|\}$/g, '').split(/[.,[\]"\s]+/).filter((segment) => segment !== '')
}

export function unquoted (text: string): string {
  return text.replace(/^\w*['"]|['"]$|^(\$\w*\$)|\$\w*\$$/g, '')
}

// Expressions for the words of a statement, joined by spaces. Values are `\0` and their index, quoted names `\x01`, and
// keys of JSON `\x02`.
const NAME = String.raw`(?:[\p{L}_]\S*|\x01\d+)`
const PATH = String.raw`(?:${NAME} \. )*${NAME}`
// Quoted names may be texts in SQLite.
const VALUE = String.raw`(?:\0\d+|\x01\d+(?! [.(]))`
const OPERATOR = '(?:(?: [=<>!~@]){1,3}(?: \\*)?| (?:not )?(?:[ri]?like|regexp|glob)| is(?: not)?(?: distinct from)?)'
const COMPARED = new RegExp(String.raw`(?:^|(?<= )(?:where|and|or|not|on|when|having|set|update|to|with)|[(,;{]) ` +
  // Functions of one column, and of one value.
  String.raw`(?:(?:lower|upper|trim|date) \( |binary )?(?<column>${PATH}(?: [-#] > (?:> )?\x02\d+)*)` +
  // Not the end of a row: `(password, id) in (?)`.
  String.raw`(?: (?<=\b(?:lower|upper|trim|date) \( [^(),]*)\))?` +
  String.raw`(?: : : \w+)?(?<values>(?:${OPERATOR}| :(?: =)?) ` +
  String.raw`(?:(?:any|all|some|lower|upper|trim|date|cast) \( |binary |- )*${VALUE}|` +
  String.raw`(?: not)? in \( ${VALUE}(?: , ${VALUE})* \)|(?: not)? between ${VALUE} and ${VALUE})`, 'gu')
/** Values that belong to no column. */
const OTHERS = new RegExp(String.raw`(?:\b(?:limit|offset|fetch (?:first|next)|interval|escape|(?:order|group) by) |` +
  String.raw`\bdate_trunc \( |\bcount \( (?:\*|${PATH}) \)${OPERATOR} )\0\d+(?: , \0\d+)?`, 'gu')
/** Names of columns that others have: `) v (id, p)`, `v (id, p) as (`; and those that a function returns. */
const RENAMED = new RegExp(String.raw`\) (?:as )?(?!over|filter)${NAME} \( (?<given>[^()]*)\)|` +
  String.raw`\b(?:with|recursive|,) ${NAME} \( (?<own>[^()]*)\) as \(`, 'gu')

/** Commands and functions with a secret; the statement that `execute` runs is unknown. */
const SECRET_COMMAND = new RegExp('^exec(?:ute)? \\S+(?: \\. \\S+)* (?:\\(|\\0\\d+(?! =))|' +
  '\\b(?:from stdin|identified|pragma (?:hex|text)?(?:re)?key|attach|(?:[bs]?crypt|argon2\\w*|' +
  '(?:pgp_\\w+_|aes_|des_)?(?:en|de)crypt(?:_iv|_raw)?|md5|sha\\d*|digest|hashbytes|\\w*_hash|hmac\\w*|' +
  // Of ClickHouse and SQL Server: tables of other servers.
  'remote(?:secure)?|(?:s3|gcs)(?:cluster)?|azureblobstorage|postgresql|mysql|mongodb|redis|opendatasource) \\()', 'u')
const PASSWORD = /(?:\bidentified by|(?<=\bidentified by \S+ )replace|\bpragma \w*key =) [^\0\s]\S*/g

/**
 * The values of a statement in their order, and whether it has a command with a secret; `hides`: whether a name is
 * secret. A name that is a text becomes one: `password = "…"`, `identified by …`.
 */
export function namedValues (
  tokens: readonly Token[], hides: (name: string) => boolean, system: string
): { values: NamedValue[], isCommand: boolean } {
  const words = significant(tokens)
  for (const token of quotedTexts(words, hides, system)) token.kind = 'string'
  const keys = jsonKeys(words)
  const isPlaced = (token: Token): boolean => isValue(token) && !keys.has(token)
  const parts = words.map((token, i) => isPlaced(token)
    ? `\0${i}`
    : token.kind === 'name' ? `\x01${i}` : keys.has(token) ? `\x02${i}` : token.text.toLowerCase())
  const text = parts.join(' ')
  const tokensOf = (part: string): Token[] =>
    (part.match(/(?<=[\0-\x02])\d+/g) ?? []).map((i) => words[Number(i)] as Token)
  const nameOf = (part: string): string => {
    const [token] = tokensOf(part)
    if (token === undefined) return part
    // `data #>> '{password,hash}'`
    return (keys.has(token) ? segmentsOf(token.text).find(hides) : undefined) ?? columnName(token)
  }
  const columns = new Map<Token, string>()
  const add = (token: Token, column: string): void => {
    if (mayBeText(token, system) && hides(column)) token.kind = 'string'
    if (isValue(token)) columns.set(token, column)
  }

  for (const [part] of text.matchAll(PASSWORD)) {
    const token = words[text.slice(0, text.indexOf(part) + part.lastIndexOf(' ')).split(' ').length] as Token
    token.kind = 'string'
  }
  for (const [part] of text.matchAll(OTHERS)) for (const token of tokensOf(part)) add(token, '')
  const aliases = aliasesOf(parts, text, nameOf)
  for (const { groups: { column = '', values = '' } = {} } of text.matchAll(COMPARED)) {
    // Without the table; with the keys of JSON.
    const names = column.replace(/\S+ \. /g, '').split(/ [-#> ]+/)
    const name = names.find((word) => hides(nameOf(word))) ?? names.at(-1) ?? ''
    if (names.some((word) => aliases.has(nameOf(word).toLowerCase()))) continue
    for (const token of tokensOf(values)) add(token, nameOf(name))
  }
  for (const [i, part] of parts.entries()) {
    if (/^values?$/.test(part) && parts[i - 1] === ')') {
      for (const [place, column] of insertedAt(parts, i)) add(words[place] as Token, nameOf(column))
    } else if (/^jsonb?_build_object$|^json_object$/.test(part)) {
      const cells = cellsAt(parts.slice(0, parts.indexOf(')', i) + 1), i + 1)
      const isKey = ([place, position]: Cell): boolean => position % 2 === 0 && words[place]?.kind === 'string'
      // Another key may be a secret name.
      if (cells.filter(isKey).length <= Number(cells.at(-1)?.[1]) / 2) continue
      for (const [place, position] of cells) {
        add(words[place] as Token, position % 2 === 0 ? '' : unquoted(words[place - 2]?.text ?? ''))
      }
    }
  }
  const values = words.filter(isPlaced).map((token) => ({ token, column: columns.get(token) }))
  return { values, isCommand: SECRET_COMMAND.test(text) }
}

/** Whether double quotes may be those of a text, as in SQLite, where a name that does not exist is one. */
export function mayBeText ({ text }: Token, system: string): boolean {
  return text.startsWith('"') && !/^(?:postgresql|cockroachdb|oracle|microsoft\.sql_server|snowflake)$/.test(system)
}

/** Words before a name. */
const BEFORE_NAME = new RegExp('^(?:\\.|from|join|into|update|table|index|view|trigger|column|as|by|set|using|' +
  'collate|exists|references|to|add|constraint|with|recursive)$')
const COMPARED_WITH = new RegExp(`^(?:${OPERATOR} (?<operand>.*?)(?= (?:and|or|then|else|when|end|where|group|order|` +
  'having|limit|union|on|join|left|inner|returning|from) | [,;)]|$)|(?: not)? in \\( (?<list>[^)]*))', 'u')

/**
 * The double quoted texts of a statement of SQLite: those that are compared with a secret name, and where that has no
 * quotes, all that are not certainly names.
 */
function quotedTexts (words: readonly Token[], hides: (name: string) => boolean, system: string): Token[] {
  if (!words.some((token) => mayBeText(token, system))) return []
  const parts = words.map((token) => token.kind === 'word' ? token.text.toLowerCase() : token.text)
  const hasBareName = SECRET_COMMAND.test(parts.join(' ')) ||
    words.some((token) => (token.kind === 'word' || /^['"]\$/.test(token.text)) && hides(columnName(token)))
  return words.filter((token, i) => {
    const [before = '', after = ''] = [parts[i - 1], parts[i + 1]]
    if (!mayBeText(token, system) || /^[.(]$/.test(after) || BEFORE_NAME.test(before)) return false
    // `data ->> "$.password"`
    if ((before === '>' && /^[->]$/.test(parts[i - 2] ?? '')) || token.text.startsWith('"$')) return true
    const { operand, list } = COMPARED_WITH.exec(` ${parts.slice(i + 1, i + 20).join(' ')}`)?.groups ?? {}
    const other = operand ?? list
    if (other !== undefined && !/^[=<|]$/.test(before)) {
      return other.split(' ').some((word) => hides(columnName({ kind: 'word', text: word }))) ||
        (hasBareName && /^[\p{L}_]\w*(?: \. \w+)?$/u.test(other) && !/^(?:null|true|false)$/.test(other))
    }
    // Names without need of quotes are rarely mixed with those that have some.
    return hasBareName && !KEYWORDS.has(columnName(token).toLowerCase())
  })
}

/** The places of the values of rows after `insert into t (a, b) values`, with their columns. */
function insertedAt (parts: readonly string[], values: number): Array<[place: number, column: string]> {
  const open = parts.lastIndexOf('(', values)
  // A list of partitions or hints.
  if (/^(?:partition|with)$/.test(parts[open - 1] ?? '')) return []
  const columns = parts.slice(open + 1, values - 1).join(' ').split(' , ').map((path) => path.split(' ').at(-1) ?? '')
  return cellsAt(parts, values + 1).map(([place, position]) => [place, columns[position] ?? ''])
}

type Cell = [place: number, position: number]

/** The places of single values in rows or arguments that begin at `start`, and their positions there. */
function cellsAt (parts: readonly string[], start: number): Cell[] {
  const found: Cell[] = []
  let [depth, position] = [0, 0]
  for (let i = start; i < parts.length; i++) {
    const part = parts[i] as string
    if (part === '(') [depth, position] = [depth + 1, depth === 0 ? 0 : position]
    else if (part === ')') depth--
    else if (depth === 1 && part === ',') position++
    else if (depth === 0 && part !== ',' && part !== 'row') break
    else if (depth === 1 && /^[(,]$/.test(parts[i - 1] ?? '') && /^[),:]$/.test(parts[i + 1] ?? '')) {
      found.push([i, position])
    }
  }
  return found
}

/** The names, in lower case, that a statement may give to a secret. */
function aliasesOf (parts: readonly string[], text: string, nameOf: (word: string) => string): Set<string> {
  // `json_each(tokens)` has a column `value`.
  const aliases = new Set(/(?:from|,|join|lateral) [^\s()]+ \(/.test(text) ? ['value'] : [])
  for (const { groups: { given = '', own = '' } = {} } of text.matchAll(RENAMED)) {
    for (const word of `${given}${own}`.split(' ')) aliases.add(nameOf(word).toLowerCase())
  }
  const isName = (word = ''): boolean => /^[\p{L}_\x01]/u.test(word) && !KEYWORDS.has(word)
  for (const [i, word] of parts.entries()) {
    const isNamed = parts[i - 1] === 'as'
    const before = parts[isNamed ? i - 2 : i - 1] ?? ''
    const mayBeAlias = isName(word) && (isNamed || isName(before) || /^[)\0]/.test(before))
    if (mayBeAlias && nameOf(word) !== nameOf(before)) aliases.add(nameOf(word).toLowerCase())
  }
  return aliases
}
