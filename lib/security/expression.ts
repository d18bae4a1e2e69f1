import { Environment } from '@marcbachmann/cel-js'
import type { FastifyRequest } from 'fastify'
import type { SecurityContext } from './context.js'
import { servicesOf } from '../lifecycle/services.js'
import { registerFunctions, replaceFunctions } from './expression-functions.js'

/** An expression as it is asked: whether it is true, and why it could not be told where that is so. */
export type Expression = (request: FastifyRequest, context: SecurityContext) => { result: boolean, error?: Error }

// The Common Expression Language (cel.dev): no loops without end, no way to the process, no assignments.
const environment = registerFunctions(new Environment({ enableOptionalTypes: true }))
  .registerVariable('user', 'dyn', { description: 'identifier, roles and attributes of the user; null for nobody' })
  .registerVariable('roles', 'list<string>', { description: "the user's roles, inherited ones among them" })
  .registerVariable('params', 'map<string, dyn>', { description: 'path parameters, converted' })
  .registerVariable({
    name: 'request',
    schema: { method: 'string', path: 'string', ip: 'string', host: 'string', scheme: 'string', headers: 'map<string, dyn>', query: 'map<string, dyn>' }
  })

/** Compiles an expression; throws where it is none, names what does not exist, or does not give true or false. */
export function compileExpression (text: string): Expression {
  const evaluate = environment.parse(text)
  replaceFunctions(evaluate.ast)
  const { valid, type, error } = evaluate.check()
  if (!valid) throw error ?? new Error('The expression has no type')
  if (String(type) !== 'bool' && String(type) !== 'dyn') throw new Error(`The expression gives ${String(type)}, not bool`)
  return (request, context) => {
    try {
      // What cannot be told is not true.
      return { result: evaluate(variables(request, context)) === true }
    } catch (raised) {
      const error = raised instanceof Error ? raised : new Error(String(raised))
      request.log.warn({ channel: 'security', expression: text, reason: error.message.split('\n')[0] }, 'Expression cannot be evaluated.')
      return { result: false, error }
    }
  }
}

function variables (request: FastifyRequest, { user, roles, path }: SecurityContext): Record<string, unknown> {
  const { ip, host, scheme } = servicesOf(request).originOf(request)
  return {
    user: user === null ? null : { ...user, attributes: celValue(user.attributes) },
    roles,
    params: celValue({ ...request.params as object }),
    request: { method: request.method, path, ip, host, scheme, headers: { ...request.headers }, query: celValue({ ...request.query as object }) }
  }
}

/** A value with its whole numbers as CEL's integers: a number is a double there, and nothing adds a double to an integer. */
function celValue (value: unknown, seen = new Map<object, unknown>()): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (typeof value !== 'object' || value === null) return value
  const known = seen.get(value)
  if (known !== undefined) return known
  if (Array.isArray(value)) {
    const list: unknown[] = []
    seen.set(value, list)
    for (const item of value as unknown[]) list.push(celValue(item, seen))
    return list
  }
  if (value instanceof Map) {
    const map = new Map<unknown, unknown>()
    seen.set(value, map)
    for (const [key, item] of value) map.set(celValue(key, seen), celValue(item, seen))
    return map
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const object = {}
  seen.set(value, object)
  // Defined, not assigned: `__proto__` is a name like others.
  for (const [name, item] of Object.entries(value)) {
    Object.defineProperty(object, name, { value: celValue(item, seen), enumerable: true, configurable: true, writable: true })
  }
  return object
}
