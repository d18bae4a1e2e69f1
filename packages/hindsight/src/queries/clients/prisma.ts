import { AsyncLocalStorage } from 'node:async_hooks'
import { beginQuery, callAsync } from '../query.js'
import type { Kind } from '../run.js'
import { framesHere, wrapMethod } from '../stack.js'

interface Operation {
  model?: string
  operation: string
  args: unknown
  query: (args: unknown) => Promise<unknown>
}
interface Raw { text?: string, sql?: string, values?: unknown[] }

export const prismaKind: Kind = {
  name: 'PrismaClient',
  methods: ['$extends', '$connect'],
  observe: observePrisma
}

/** Returns the client with an extension of its queries. */
function observePrisma (client: Record<string, unknown>): object {
  const sent = new AsyncLocalStorage<string>()
  const $allOperations = ({ model, operation, args, query }: Operation): Promise<unknown> => {
    const [statement, parameters] = statementOf(model, operation, args)
    const system = model === undefined ? 'other_sql' : 'prisma'
    const begun = beginQuery({ system, statement, parameters, frames: sent.getStore(), isOuter: true })
    // A query of Prisma is no promise, and is sent when it is awaited.
    return callAsync(begun, () => Promise.resolve(query(args)), (result) => rowsOf(operation, result))
  }
  const extension = { name: 'fastify-hindsight', query: { $allOperations } }
  const extended = (client.$extends as (extension: object) => object)(extension)
  wrapMethod(extended, '$transaction', (self, args, original) => {
    const send = (): unknown => original.apply(self, args)
    // The stacks of queries that are sent together do not show who has sent them.
    const frames = Array.isArray(args[0]) ? framesHere() : undefined
    if (frames === undefined) return send()
    return sent.run(frames, send)
  })
  return extended
}

/** The operation of a model and its arguments; of a raw query, its text and values. */
function statementOf (model: string | undefined, operation: string, args: unknown): [string, parameters: unknown] {
  if (model !== undefined) return [`${model}.${operation}`, args]
  if (Array.isArray(args)) return [String(args[0]), args.slice(1)]
  const { text, sql, values } = Object(args) as Raw
  return [text ?? sql ?? operation, values ?? args]
}

function rowsOf (operation: string, result: unknown): number | undefined {
  if (Array.isArray(result)) return result.length
  if (operation.endsWith('Many')) return (result as { count: number }).count
  if (operation.startsWith('$executeRaw')) return result as number
  return result === null ? 0 : 1
}
