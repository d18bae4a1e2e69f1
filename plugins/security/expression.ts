import { Environment } from '@marcbachmann/cel-js'
import type { FastifyRequest } from 'fastify'
import type { SecurityContext } from './context.js'

/** An expression as it is asked: whether it is true, and why it could not be told where that is so. */
export type Expression = (request: FastifyRequest, context: SecurityContext) => { result: boolean, error?: Error }

// The Common Expression Language (cel.dev): no loops without end, no way to the process, no assignments.
const environment = new Environment({ enableOptionalTypes: true })
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
  const { valid, type, error } = evaluate.check()
  if (!valid) throw error ?? new Error('The expression has no type')
  if (String(type) !== 'bool' && String(type) !== 'dyn') throw new Error(`The expression gives ${String(type)}, not bool`)
  return (request, context) => {
    try {
      // What cannot be told is not true.
      return { result: evaluate(variables(request, context)) === true }
    } catch (raised) {
      return { result: false, error: raised instanceof Error ? raised : new Error(String(raised)) }
    }
  }
}

function variables (request: FastifyRequest, { user, roles, path }: SecurityContext): Record<string, unknown> {
  const { ip, host, scheme } = request.server.hindsight.originOf(request)
  return {
    user,
    roles,
    params: { ...request.params as object },
    request: { method: request.method, path, ip, host, scheme, headers: { ...request.headers }, query: { ...request.query as object } }
  }
}
