import { isHarmless, isPlaceholder } from './names.js'
import { MASKED } from './parts.js'

// A shell writes an apostrophe within apostrophes as `'\''`, SQL as `''`.
const ARGUMENT = '(?:"(?:[^"\\\\]|\\\\[^])*"?|\'(?:[^\']|\'(?:\\\\\')?\')*\'?|[^\\s"\']\\S*)'
const USER = '\\s(?:-[a-zA-Z]{0,8}[uUa]|--(?:proxy-)?user)[ =]?'
/** The options that take a password, by the commands that have them. */
const OPTIONS: ReadonlyArray<[command: RegExp, option: RegExp]> = [
  [/^(?:curl|https?|xh|wget)$/, new RegExp(`(${USER}(["'])[^\\s:"']{0,100}:)(?:(?!\\2)[^]|'\\\\''|(?<=\\\\)")+`, 'g')],
  [/^(?:curl|https?|xh|wget)$/, new RegExp(`(${USER}[^\\s:"']{0,100}:)[^\\s"']+`, 'g')],
  [/^curl$/, new RegExp(`(\\s(?:-b|--cookie)[ =])${ARGUMENT}`, 'g')],
  [/^lftp$/, /(\s-u ?["']?[^\s,"']{0,100},)[^\s"']+/g],
  [/^(?:docker|podman|helm|az)$/, new RegExp(`(\\slogin\\s[^\\n]{0,200}?(?<=\\s)-p ?)(?!-)${ARGUMENT}`, 'g')],
  [/^(?:my|maria|mongo|sshpass|7z|cqlsh|influx)/,
    new RegExp(`(\\s-p ?)(?!\\d+:|-)${ARGUMENT}`, 'g')],
  [/^(?:redis-cli|valkey-cli)$/, new RegExp(`(\\s-a ?)${ARGUMENT}`, 'g')],
  [/^ldap/, new RegExp(`(\\s-w ?)${ARGUMENT}`, 'g')],
  [/^(?:zip|unzip|sqlcmd|bcp|mosquitto_[ps]ub)$/, new RegExp(`(\\s-P ?)${ARGUMENT}`, 'g')],
  [/^(?:smbclient|rpcclient)$/, /(\s-U ?["']?[^\s%"']{1,100}%)[^\s"']+/g],
  [/^openssl$/, /(\spass:)\S+/g],
  [/^xfreerdp$/, /(\s\/p:)\S+/g],
  [/^sqlplus$/, /(\s[\w.]{1,64}\/)[^\s@]+/g],
  [/^vault$/, new RegExp(`(^\\s+login )(?!-)${ARGUMENT}`, 'g')],
  [/^htpasswd$/, new RegExp(`(\\s-\\w{0,5}b\\w{0,5} \\S+ \\S+ )${ARGUMENT}`, 'g')],
  [/^net$/, new RegExp(`(\\s\\/user:\\S+ )${ARGUMENT}`, 'g')],
  [/^echo$/, new RegExp(`(^\\s+)${ARGUMENT}(?=\\s*\\|[^\\n]{0,100}(?:-stdin|sudo -S))`, 'g')]
]
const COMMAND = new RegExp('(?<![\\w./-])(?:/[\\w/.-]{0,100}/)?(curl|https?|xh|wget|lftp|mysql\\w*|mariadb\\w*|' +
  'mongo\\w*|sshpass|7z|docker|podman|helm|az|' +
  'cqlsh|influx|(?:redis|valkey)-cli|ldap\\w+|zip|unzip|sqlcmd|bcp|mosquitto_[ps]ub|' +
  'smbclient|rpcclient|openssl|xfreerdp|sqlplus|vault|htpasswd|net|echo)((?= )[^\\n]{0,2000})', 'g')
// AUTH of Redis, LOGIN of IMAP, a line of .pgpass, and the user and password of Oracle.
const PROTOCOLS = new RegExp([
  '(?<![\\w-])AUTH (?:\\S{1,64} )?', '(?<![\\w-])LOGIN \\S{1,64} ',
  '(?<![^\\s])[\\w.*-]{1,100}:(?:\\d{2,5}|\\*):[A-Za-z*][^\\s:/]{0,63}:[A-Za-z*][^\\s:/]{0,63}:'
].map((before) => `(${before})(?=[^\\s\\d]{0,100}\\d)[^\\s"':]{5,}(?!\\S)`).join('|'), 'g')
const ORACLE = /(?<=(?:^|\s|thin:)[\w.]{1,64}\/)[^\s/@]{1,128}(?=@(?:\/\/|[\w.-]{1,128}:\d))/g

/** Hides the passwords in the options of commands (`curl -u user:…`, `mysql -p…`) and of protocols (`AUTH …`). */
export function maskedCommands (text: string): string {
  if (!text.includes(' ') && !text.includes(':')) return text
  const shown = text.replace(COMMAND, (all, command: string, rest: string) => {
    const masked = OPTIONS.filter(([name]) => name.test(command))
      .reduce((left, [, option]) => left.replace(option, `$1${MASKED}`), rest)
    return all.slice(0, all.length - rest.length) + masked
  }).replace(PROTOCOLS, (_all, auth = '', login = '', line = '') => auth + login + line + MASKED)
  return shown.includes('/') ? shown.replace(ORACLE, MASKED) : shown
}

const IDENTIFIED = new RegExp('(\\bIDENTIFIED\\s+' +
  `(?:WITH\\s+\\S{1,64}\\s+)?(?:BY|AS)\\s+(?:PASSWORD\\s+)?)${ARGUMENT}`, 'gi')
const CIPHER = new RegExp('(\\b(?:(?:pgp_sym|aes)_(?:en|de)crypt\\s*\\([^()]{0,500},\\s*|' +
  'PRAGMA\\s+(?:re|hex)?key\\s*=\\s*|' +
  'ATTACH\\b[^;\\n]{0,200}\\bKEY\\s+))\'[^\']*\'?', 'gi')
// `(name, password) VALUES ('ada', '…'), (…)`, and `Key (email, token)=(…, …)` of an error message.
const COLUMNS = /\(([^()]{1,2000})\)\s*(?:VALUES|=)\s*(?=\()/gi
const ROW = /\s*,?\s*\(/y
// The bounds keep the cost linear where a quote is not closed.
const ITEM = new RegExp('\\s*((?:[A-Za-z]{0,2}\'(?:[^\'\\\\]|\'\'|\\\\[^]){0,2000}\'|' +
  '"(?:[^"\\\\]|\\\\[^]){0,2000}"|\\([^()]{0,2000}\\)|[^,()\'"])+)(,?)', 'y')

/** Hides the passwords in statements of SQL: `IDENTIFIED BY '…'`, and the values of columns that have secret names. */
export function maskedStatements (text: string, hides: (name: string) => boolean): string {
  let shown = text
  if (/identified/i.test(text)) shown = shown.replace(IDENTIFIED, `$1'${MASKED}'`)
  if (/crypt|key/i.test(text)) shown = shown.replace(CIPHER, `$1'${MASKED}'`)
  return shown.includes('(') ? rows(shown, hides) : shown
}

function rows (text: string, hides: (name: string) => boolean): string {
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
        const start = item.index + item[0].length - (item[1] ?? '').length - (item[2] ?? '').length
        const value = item[1] ?? ''
        if (hide && !isPlaceholder(value.trim()) && !isHarmless('', value.trim())) {
          shown += text.slice(done, start) + `'${MASKED}'`
          done = start + value.length
        }
        ROW.lastIndex = ITEM.lastIndex = item.index + item[0].length
      }
      if (text[ROW.lastIndex] !== ')') break
      ROW.lastIndex++
    }
  }
  return shown + text.slice(done)
}
