import { MASKED } from './names.js'

/** From the first words of a statement of SQL in a text to its end. */
const STATEMENT = new RegExp(String.raw`\b(?:insert\s{1,9}into|delete\s{1,9}from|update\s{1,9}\S{1,200}\s{1,9}set|` +
  String.raw`(?:create|alter)\s{1,9}(?:user|role|login)|set\s{1,9}password|identified\s{1,9}by|` +
  String.raw`select\s{1,9}(?:distinct\b|\*|["\w.]{1,100}\s{0,9}(?:[,(]|as\b|from\b)))[^]*`, 'i')
const LITERAL = /'(?:[^'\\]|''|\\[^])*'?|(?<![\w$:.-])\d{4,}(?![\w.-])/g
const IDENTIFIED = /\bidentified\s{1,9}(?:with|by|as)\b/i
/** Values without names in the message of Drizzle's `DrizzleQueryError`, up to its frames. */
const PARAMETERS = /(\nparams: )[^]*?(?=\n {4}at |$)/
/** Messages of PostgreSQL, whose values have no names, and those of PostgreSQL and MySQL about one key. */
const FAILING_ROW = /(\bFailing row contains )\((?:[^\n]*\)|[^\n]*)/g
const KEY = /(\bKey \(([^()\n]{1,200})\)=)\([^\n]*\)/g
const DUPLICATE = /(\bDuplicate entry )'[^\n]{0,500}?'(?= for key '([^'\n]{1,128})')/g

interface StatementMask {
  hides: (name: string) => boolean
  mentions: (text: string) => boolean
}

/** Masks all literals of a statement of SQL that has a secret name, and values in messages of databases. */
export function maskStatement (mask: StatementMask, text: string): string {
  let shown = text
  if (text.includes('Failed query: ')) shown = text.replace(PARAMETERS, `$1${MASKED}`)
  return shown
    .replace(STATEMENT, (all) => IDENTIFIED.test(all) || mask.mentions(all) ? all.replace(LITERAL, `'${MASKED}'`) : all)
    .replace(FAILING_ROW, `$1(${MASKED})`)
    .replace(KEY, (all, before: string, names: string) =>
      names.split(/\W+/).some(mask.hides) ? `${before}(${MASKED})` : all)
    .replace(DUPLICATE, (all, before: string, name: string) => mask.hides(name) ? `${before}'${MASKED}'` : all)
}
