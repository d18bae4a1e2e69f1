import { MASKED } from './names.js'
import { ARGUMENT } from './shapes.js'

const USER = String.raw`\s(?:-[a-zA-Z]{0,8}[uU]|--(?:proxy-)?user)[ =]?`
/** The options that take a password, by the commands that have them. */
const OPTIONS: ReadonlyArray<readonly [commands: string, option: string]> = [
  ['curl|wget', String.raw`(${USER}["'][^:"']{0,100}:)[^"']+`],
  ['curl|wget', String.raw`(${USER}[^\s:"']{0,100}:)[^\s"']+`],
  ['docker|podman|helm', String.raw`(\slogin\s[^\n]{0,200}?(?<=\s)-p ?)(?!-)${ARGUMENT}`],
  [String.raw`mysql\w*|mariadb\w*|mongo\w*|sshpass`, String.raw`(\s-p ?)(?!\d+:|-)${ARGUMENT}`],
  ['redis-cli|valkey-cli', String.raw`(\s-a ?)${ARGUMENT}`]
]
const COMPILED = OPTIONS.map(([commands, option]) =>
  [new RegExp(String.raw`(?<![\w.-])(?:${commands}) [^\n]{0,2000}`, 'g'), new RegExp(option, 'g')] as const)

/** Masks the passwords in the options of commands: `curl -u user:…`, `mysql -p…`. */
export function maskCommands (text: string): string {
  return COMPILED.reduce((shown, [command, option]) =>
    shown.replace(command, (all) => all.replace(option, `$1${MASKED}`)), text)
}

/** `(name, password) VALUES (`, and `(email, token)=(` of an error message. */
const COLUMNS = /\(([^()]{1,2000})\)(?:\s*VALUES\s*|=)(?=\()/gi
const ROWS = /[^\n]*(?:\n\s*\([^\n]*)*/y
const LITERAL = /'(?:[^'\\]|''|\\[^])*'?|"(?:[^"\\]|\\[^])*"?|(?<![\w$:])\d{4,}/g

/** Masks the literals of SQL statements that write a column with a secret name. */
export function maskRows (hides: (name: string) => boolean, text: string): string {
  let [shown, done] = ['', 0]
  for (const { index, 0: all, 1: columns = '' } of text.matchAll(COLUMNS)) {
    if (index < done || !columns.split(',').some((name) => hides(name.replace(/["'`[\]\s]/g, '')))) continue
    const start = ROWS.lastIndex = index + all.length
    const [rows = ''] = ROWS.exec(text) ?? []
    shown += text.slice(done, start)
    shown += all.endsWith('=') ? rows.replace(/\([^()]*/, `(${MASKED}`) : rows.replace(LITERAL, `'${MASKED}'`)
    done = start + rows.length
  }
  return shown + text.slice(done)
}
