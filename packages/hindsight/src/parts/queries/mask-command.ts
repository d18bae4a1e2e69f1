import { MASKED, type Mask } from '../../mask/mask.js'

export interface Shown { statement: string, parameters: unknown }

/** Commands of Redis with pairs of names and values, and where the first pair begins. */
const PAIRS: ReadonlyMap<string, number> = new Map([
  ['MSET', 0], ['MSETNX', 0], ['HSET', 1], ['HMSET', 1], ['HSETNX', 1], ['CONFIG', 1], ['CONFIG SET', 0]
])
/** Frequent commands without values: with keys, numbers or options only. */
const VALUELESS = new Set(('DEL UNLINK EXISTS TOUCH MGET KEYS SCAN SSCAN HSCAN RENAME EXPIRE PEXPIRE EXPIREAT ' +
  'PEXPIREAT GETEX INCRBY DECRBY LRANGE LTRIM LPOP RPOP BLPOP SPOP ZRANGE ZREVRANGE ZRANGEBYSCORE ZREMRANGEBYSCORE ' +
  'ZCOUNT XREAD XREADGROUP XRANGE XACK JSON.GET JSON.MGET SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE').split(' '))
/** Commands with names of fields after their key. */
const FIELDS = /^(?:HGET|HMGET|HDEL|HEXISTS|HSTRLEN|HINCRBY)$/
/** Commands with a number before their value. */
const SECOND = /^(?:P?SETEX|SETRANGE|LREM|LSET)$/
const EXPIRY = /^(?:EX|PX)(?:AT)?$/i
const OPTION = /^(?:[NX]X|KEEPTTL|GET|(?:EX|PX)(?:AT)?)$/i

const SCRIPT = /^(?:EVAL|EVALSHA|FCALL)(?:_RO)?$/i
/** The literals of a script, and the call that one is the command of. */
const LITERAL = /(\bp?call\(\s*)?(['"])(?:\\[^]|(?!\2)[^\\])*\2/g

/** A key of express-session and the like. */
const SESSION_KEY = /(?<=^|:)(sess:)\S+/

/** Masks the secrets of a command of Redis; its arguments are the parameters, or in the statement. */
export function maskCommand (mask: Mask, statement: string, parameters: unknown): Shown {
  if (parameters !== undefined && !Array.isArray(parameters)) {
    return { statement: mask.text(statement), parameters: mask.value(parameters) }
  }
  const [command = '', ...words] = statement.trim().split(/\s+/)
  const given = parameters as unknown[] | undefined ?? []
  const args = [...words, ...given]
  const secret = secretArguments(mask, command.toUpperCase(), args)
  const shown = args.map((value, i): unknown => {
    if (secret.has(i)) return MASKED
    if (typeof value !== 'string') return mask.value(value)
    const isScript = i === 0 ? SCRIPT.test(command) : i === 1 && args[0] === 'LOAD'
    const text = isScript && mask.mentions(value)
      ? value.replace(LITERAL, (all, call?: string) => call !== undefined || mask.mentions(all) ? all : `'${MASKED}'`)
      : value
    return mask.text(text).replace(SESSION_KEY, `$1${MASKED}`)
  })
  return {
    statement: [command, ...shown.slice(0, words.length)].join(' '),
    parameters: parameters === undefined ? undefined : shown.slice(words.length)
  }
}

/** The positions of the arguments that are secrets: after a secret name, all that are not certainly something else. */
function secretArguments (mask: Mask, command: string, args: readonly unknown[]): Set<number> {
  const words = args.map((value) => typeof value === 'string' || typeof value === 'number' ? String(value) : '')
  const all = words.map((_, i) => i)
  // Of a value, which may be JSON, nothing follows.
  const isName = (text: string): boolean => text.length <= 256 && !/[\s{]/.test(text) && mask.mentions(text)
  const after = (expression: RegExp, count: number): number[] =>
    all.filter((i) => words.slice(Math.max(0, i - count), i).some((word) => expression.test(word)))
  if (command === 'AUTH') return new Set(args.length > 1 ? all.slice(1) : all)
  if (/^(?:HELLO|MIGRATE|ACL)\b/.test(command)) {
    return new Set([...after(/^AUTH2?$/i, 2), ...all.filter((i) => /^[><#!]/.test(words[i] ?? ''))])
  }
  if (command.startsWith('FT.')) return new Set(all.filter((i) => i > 0 && mask.mentions(words[i] ?? '')))
  if (VALUELESS.has(command)) return new Set()
  const start = PAIRS.get(command)
  if (start !== undefined && typeof args[start] !== 'object') {
    const isSecret = start > 0 && isName(words[0] ?? '')
    return new Set(all.filter((i) => i > start && (i - start) % 2 === 1 && (isSecret || isName(words[i - 1] ?? ''))))
  }
  // A script with its keys.
  const isScript = SCRIPT.test(command)
  const keys = 1 + (Number(words[1]) || 0)
  const first = words.findIndex((word, i) => isScript && i === 0 ? mask.mentions(word) : isName(word))
  // The text of a script that was loaded before is unknown.
  if (first === -1 && isScript && !command.startsWith('EVAL_') && command !== 'EVAL') {
    return new Set(all.filter((i) => i > keys && !/^-?[\d.]+$/.test(words[i] ?? '')))
  }
  if (first === -1 || (FIELDS.test(command) && first > 0)) return new Set()
  const from = isScript ? Math.max(first, keys) : first
  const isOption = (i: number): boolean => i > from + 1 &&
    (OPTION.test(words[i] ?? '') || (EXPIRY.test(words[i - 1] ?? '') && /^\d+$/.test(words[i] ?? '')))
  return new Set(all.filter((i) => i > from && !isOption(i) && !(SECOND.test(command) && i === 1)))
}
