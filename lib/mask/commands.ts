import { isHarmless, isPlaceholder, MASKED } from './names.js'
import { ARGUMENT } from './shapes.js'

const USER = String.raw`\s(?:-[a-zA-Z]{0,8}[uUa]|--(?:proxy-)?user)[ =]?`
/** The options that take a password, by the commands that have them. */
const OPTIONS: ReadonlyArray<readonly [commands: string, option: string]> = [
  ['curl|https?|xh|wget', String.raw`(${USER}(["'])[^\s:"']{0,100}:)(?:(?!\2)[^]|'\\''|(?<=\\)")+`],
  ['curl|https?|xh|wget', String.raw`(${USER}[^\s:"']{0,100}:)[^\s"']+`],
  ['curl', String.raw`(\s(?:-b|--cookie)[ =])${ARGUMENT}`],
  ['lftp', String.raw`(\s-u ?["']?[^\s,"']{0,100},)[^\s"']+`],
  ['docker|podman|helm|az', String.raw`(\slogin\s[^\n]{0,200}?(?<=\s)-p ?)(?!-)${ARGUMENT}`],
  [String.raw`mysql\w*|mariadb\w*|mongo\w*|sshpass|7z|cqlsh`, String.raw`(\s-p ?)(?!\d+:|-)${ARGUMENT}`],
  ['redis-cli|valkey-cli', String.raw`(\s-a ?)${ARGUMENT}`],
  [String.raw`ldap\w+`, String.raw`(\s-w ?)${ARGUMENT}`],
  ['zip|unzip|sqlcmd|bcp|mosquitto_[ps]ub', String.raw`(\s-P ?)${ARGUMENT}`],
  ['smbclient|rpcclient', String.raw`(\s-U ?["']?[^\s%"']{1,100}%)[^\s"']+`],
  ['openssl', String.raw`(\spass:)\S+`],
  ['xfreerdp', String.raw`(\s/p:)\S+`],
  ['sqlplus', String.raw`(\s[\w.]{1,64}/)[^\s@]+`],
  ['vault', String.raw`(^\s+login )(?!-)${ARGUMENT}`],
  ['htpasswd', String.raw`(\s-\w{0,5}b\w{0,5} \S+ \S+ )${ARGUMENT}`],
  ['net', String.raw`(\s/user:\S+ )${ARGUMENT}`],
  ['echo', String.raw`(^\s+)${ARGUMENT}(?=\s*\|[^\n]{0,100}(?:-stdin|sudo -S))`]
]
const COMPILED = OPTIONS
  .map(([commands, option]) => [new RegExp(`^(?:${commands})$`), new RegExp(option, 'g')] as const)
const COMMAND = new RegExp(String.raw`((?<![\w./-])(?:/[\w/.-]{0,100}/)?` +
  String.raw`(${OPTIONS.map(([commands]) => commands).join('|')}))((?= )[^\n]{0,2000})`, 'g')

/** Masks the passwords in the options of commands: `curl -u user:…`, `mysql -p…`. */
export function maskCommands (text: string): string {
  return text.replace(COMMAND, (_all, start: string, command: string, rest: string) => start + COMPILED
    .filter(([name]) => name.test(command))
    .reduce((shown, [, option]) => shown.replace(option, `$1${MASKED}`), rest))
}

/** `(name, password) VALUES ('ada', '…'), (…)`, and `Key (email, token)=(…, …)` of an error message. */
const COLUMNS = /\(([^()]{1,2000})\)\s*(?:VALUES|=)\s*(?=\()/gi
const ROW = /\s*,?\s*\(/y
// The bounds keep the cost linear where a quote is not closed.
const ITEM = new RegExp('(\\s*)((?:[A-Za-z]{0,2}\'(?:[^\'\\\\]|\'\'|\\\\[^]){0,2000}\'|' +
  '"(?:[^"\\\\]|\\\\[^]){0,2000}"|\\((?:[^()]|\\([^()]{0,200}\\)){0,2000}\\)|[^,()\'"])+)(,?)', 'y')

/** Masks the values of SQL statements whose columns have secret names. */
export function maskRows (hides: (name: string) => boolean, text: string): string {
  let [shown, done] = ['', 0]
  for (const { index, 0: all, 1: list = '' } of text.matchAll(COLUMNS)) {
    const hidden = list.split(',').map((name) => hides(name.replace(/["'`[\]\s]/g, '')))
    if (index < done || !hidden.includes(true)) continue
    ROW.lastIndex = index + all.length
    while (ROW.test(text)) {
      ITEM.lastIndex = ROW.lastIndex
      for (const hide of hidden) {
        const item = ITEM.exec(text)
        if (item === null) break
        const [whole, space = '', value = ''] = item
        if (hide && !isPlaceholder(value.trim()) && !isHarmless('', value.trim())) {
          shown += `${text.slice(done, item.index + space.length)}'${MASKED}'`
          done = item.index + space.length + value.length
        }
        ROW.lastIndex = ITEM.lastIndex = item.index + whole.length
      }
      if (text[ROW.lastIndex] !== ')') break
      ROW.lastIndex++
    }
  }
  return shown + text.slice(done)
}
