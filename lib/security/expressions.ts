import { Environment, type ASTNode } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'
import { servicesOf } from '../lifecycle/services.js'
import { userOf } from './context.js'
import type { Check } from './route-check.js'

const literals = new Map<string, RE2JS>()

// The Common Expression Language (cel.dev): no unbounded loops, no access to the process, no assignments.
const environment = new Environment({ enableOptionalTypes: true })
  .registerFunction('string.matchesLinear(string): bool', matches)
  .registerVariable('user', 'dyn', { description: 'identifier, roles and attributes; null without a user' })
  .registerVariable('roles', 'list<string>', { description: "the user's roles, with inherited ones" })
  .registerVariable('params', 'map<string, dyn>', { description: 'path parameters, converted' })
  .registerVariable({
    name: 'request',
    schema: {
      method: 'string',
      path: 'string',
      ip: 'string',
      host: 'string',
      scheme: 'string',
      headers: 'map<string, dyn>',
      query: 'map<string, dyn>'
    }
  })

/** Compiles an expression; throws if it is invalid, uses an unknown name, or does not return a boolean. */
export function compileExpression (text: string): Check {
  const evaluate = environment.parse(text)
  replaceFunctions(evaluate.ast)
  const { valid, type, error } = evaluate.check()
  if (!valid) throw error ?? new Error('The expression has no type')
  if (!['bool', 'dyn'].includes(String(type))) throw new Error(`The expression returns ${String(type)}, not bool`)
  return (context) => {
    const { request, roles, path } = context
    const user = userOf(request)
    const { ip, host, scheme } = servicesOf(request).originOf(request)
    const { method, headers, params, query } = request
    try {
      const result = evaluate({
        user: user === null ? null : { ...user, attributes: celValue(user.attributes) },
        roles,
        params: celValue({ ...params as object }),
        request: { method, path, ip, host, scheme, headers: { ...headers }, query: celValue({ ...query as object }) }
      })
      const granted = result === true
      context.expression = { expression: text, result: granted }
      return { granted }
    } catch (raised) {
      // An expression that cannot be evaluated is not true.
      const error = raised instanceof Error ? raised : new Error(String(raised))
      const reason = error.message.split('\n')[0]
      request.log.warn({ channel: 'security', expression: text, reason }, 'Expression cannot be evaluated.')
      context.expression = { expression: text, result: false, error: error.message }
      return { granted: false, error }
    }
  }
}

/**
 * Replaces `matches`, which takes exponential time and cannot be replaced under its name, in a parsed expression, and
 * compiles its patterns. Throws for one that is invalid or no literal, and for `duration`, which takes cubic time.
 */
function replaceFunctions (node: unknown): void {
  if (Array.isArray(node)) for (const part of node) replaceFunctions(part)
  if (typeof node !== 'object' || node === null || !('op' in node && 'args' in node)) return
  const { op, args } = node as ASTNode
  if (op === 'call' || op === 'rcall') {
    const [name] = args
    if (name === 'duration') throw new Error('The function duration is not available')
    if (name === 'matches') {
      for (const { op: kind, args: pattern } of op === 'rcall' ? args[2] : []) {
        if (kind !== 'value' || typeof pattern !== 'string') throw new Error('The pattern of matches must be a literal')
        literals.set(pattern, compilePattern(pattern))
      }
      args[0] = 'matchesLinear'
    }
  }
  replaceFunctions(args)
}

function matches (text: string, pattern: string): boolean {
  return literals.get(pattern)?.matcher(text).find() === true
}

function compilePattern (pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch (error) {
    throw new Error(`The pattern "${pattern}" is invalid: ${(error as Error).message}`, { cause: error })
  }
}

/**
 * A copy with whole numbers as integers of CEL: other numbers are doubles there, which cannot be added to integers.
 * Objects become maps.
 */
function celValue (value: unknown, copies = new Map<object, unknown>()): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof value !== 'object' || value === null) return value
  const prototype: unknown = Object.getPrototypeOf(value)
  const isMap = value instanceof Map || prototype === Object.prototype || prototype === null
  if (!isMap && !Array.isArray(value)) return value
  if (copies.has(value)) return copies.get(value)
  // The copy is known before its members: a value may contain itself.
  const copy: unknown[] | Map<unknown, unknown> = isMap ? new Map() : []
  copies.set(value, copy)
  if (copy instanceof Map) {
    const members = value instanceof Map ? value : Object.entries(value)
    for (const [key, item] of members) copy.set(celValue(key), celValue(item, copies))
  } else {
    for (const item of value as unknown[]) copy.push(celValue(item, copies))
  }
  return copy
}
