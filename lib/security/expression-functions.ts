import { createRequire } from 'node:module'
import { Environment, type ASTNode } from '@marcbachmann/cel-js'
import type { RE2JS } from 're2js'

/** Characters of a pattern that is not a literal of the expression. */
const MAX_PATTERN = 200
/** Instructions of such a pattern: the time of a match is their number times the length of the text. */
const MAX_PROGRAM = 500
/** Characters of a duration, of which `-2562047h47m16.854775807s` is the longest. */
const MAX_DURATION = 40

// The library's own functions take exponential and cubic time, and cannot be replaced under their names.
const REPLACED: ReadonlyMap<string, string> = new Map([['matches', 'matchesLinear'], ['duration', 'durationOf']])

const require = createRequire(import.meta.url)
const literals = new Map<string, RE2JS>()
const parseDuration = new Environment().registerVariable('text', 'string').parse('duration(text)')

/** Adds the functions that `replaceFunctions` puts in place of the library's. */
export function registerFunctions (environment: Environment): Environment {
  return environment
    .registerFunction('string.matchesLinear(string): bool', matches)
    .registerFunction('durationOf(string): google.protobuf.Duration', durationOf)
}

/** Replaces functions in a parsed expression; throws where a pattern that is a literal is invalid. */
export function replaceFunctions (node: unknown): void {
  if (Array.isArray(node)) for (const part of node) replaceFunctions(part)
  if (!isNode(node)) return
  if (node.op === 'call' || node.op === 'rcall') {
    const [name] = node.args
    const patterns = node.op === 'rcall' ? node.args[2] : []
    if (name === 'matches') patterns.forEach(compileLiteral)
    node.args[0] = REPLACED.get(name) ?? name
  }
  replaceFunctions(node.args)
}

function compileLiteral ({ op, args }: ASTNode): void {
  if (op === 'value' && typeof args === 'string') literals.set(args, checked(compile(args), args))
}

function isNode (value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value
}

function matches (text: string, pattern: string): boolean {
  return (literals.get(pattern) ?? compileDynamic(pattern)).matcher(text).find()
}

function compileDynamic (pattern: string): RE2JS {
  if (pattern.length > MAX_PATTERN) {
    throw new Error(`A pattern that is not a literal has at most ${MAX_PATTERN} characters, not ${pattern.length}`)
  }
  return checked(compile(pattern), pattern)
}

// The cost of a match is the size of the program times the length of the text.
function checked (compiled: RE2JS, pattern: string): RE2JS {
  if (compiled.programSize() > MAX_PROGRAM) throw new Error(`The pattern "${pattern}" has too many repetitions`)
  return compiled
}

// Loaded with the first pattern: it is as large as all other code of expressions.
function compile (pattern: string): RE2JS {
  const re2 = require('re2js') as typeof import('re2js')
  try {
    return re2.RE2JS.compile(pattern)
  } catch (error) {
    throw new Error(`The pattern "${pattern}" is invalid: ${(error as Error).message}`, { cause: error })
  }
}

function durationOf (text: string): unknown {
  if (text.length > MAX_DURATION) {
    throw new Error(`A duration has at most ${MAX_DURATION} characters, not ${text.length}`)
  }
  return parseDuration({ text })
}
