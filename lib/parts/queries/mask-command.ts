import { MASKED, type Mask } from '../../mask/mask.js'

/** A statement and its parameters. */
export interface Shown { statement: string, parameters: unknown }

/** Commands of Redis that have values after their key; `SETEX` and its like have a number before these. */
const VALUES = new Set(('SET SETNX GETSET APPEND LPUSH RPUSH LPUSHX RPUSHX SADD SREM SISMEMBER SMISMEMBER LPOS ' +
  'PUBLISH SPUBLISH PFADD SETEX PSETEX SETRANGE LREM LSET JSON.SET').split(' '))
const SECOND = /^(?:P?SETEX|SETRANGE|LREM|LSET|JSON\.SET)$/
/** Commands with pairs of names and values, and where the first pair begins. */
const PAIRS: ReadonlyMap<string, number> = new Map([
  ['MSET', 0], ['MSETNX', 0], ['HSET', 1], ['HMSET', 1], ['HSETNX', 1], ['XADD', 2], ['CONFIG', 1], ['CONFIG SET', 0]
])
const OPTION = /^(?:[NX]X|KEEPTTL|GET|(?:EX|PX)(?:AT)?)$/i
const EXPIRY = /^(?:EX|PX)(?:AT)?$/i

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
  const shown = args.map((value, i): unknown => secret.has(i)
    ? MASKED
    : typeof value === 'string' ? mask.text(value).replace(SESSION_KEY, `$1${MASKED}`) : mask.value(value))
  return {
    statement: [command, ...shown.slice(0, words.length)].join(' '),
    parameters: parameters === undefined ? undefined : shown.slice(words.length)
  }
}

/** The positions of the arguments that are secrets. */
function secretArguments (mask: Mask, command: string, args: readonly unknown[]): Set<number> {
  const words = args.map((value) => typeof value === 'string' || typeof value === 'number' ? String(value) : '')
  const all = words.map((_, i) => i)
  const first = words[0] ?? ''
  const hides = (key: string): boolean => key.split(/[:/|]/).some((part) => part === 'sess' || mask.hides(part))
  const after = (expression: RegExp, count: number): number[] =>
    all.filter((i) => words.slice(Math.max(0, i - count), i).some((word) => expression.test(word)))
  if (command === 'AUTH') return new Set(args.length > 1 ? all.slice(1) : all)
  if (command === 'HELLO' || command === 'MIGRATE') return new Set(after(/^AUTH2?$/i, 2))
  if (/^ACL\b/.test(command)) return new Set(all.filter((i) => /^[><#!]/.test(words[i] ?? '')))
  const start = PAIRS.get(command)
  if (start !== undefined) {
    const isSecret = start > 0 && hides(first)
    return new Set(all.filter((i) => i > start && (i - start) % 2 === 1 && (isSecret || hides(words[i - 1] ?? ''))))
  }
  if (!VALUES.has(command) || !hides(first)) return new Set()
  const isOption = (i: number): boolean =>
    command === 'SET' && i > 1 && (OPTION.test(words[i] ?? '') || EXPIRY.test(words[i - 1] ?? ''))
  return new Set(all.filter((i) => i > (SECOND.test(command) ? 1 : 0) && !isOption(i)))
}
