import { beginQuery, callAsync } from '../query.js'

interface Operation {
  model?: string
  operation: string
  args: unknown
  query: (args: unknown) => Promise<unknown>
}
interface Raw { text?: string, sql?: string, values?: unknown[] }

/** `PrismaClient`. */
export function isPrisma (client: Record<string, unknown>): boolean {
  return typeof client.$extends === 'function' && typeof client.$connect === 'function'
}

/** Returns the client with an extension of its queries. */
export function observePrisma (client: Record<string, unknown>): object {
  const $allOperations = ({ model, operation, args, query }: Operation): Promise<unknown> => {
    const [statement, parameters] = statementOf(model, operation, args)
    const system = model === undefined ? 'other_sql' : 'prisma'
    return callAsync(beginQuery({ system, statement, parameters }), () => query(args), rowsOf)
  }
  return (client.$extends as (extension: object) => object)({ name: 'fastify-hindsight', query: { $allOperations } })
}

/** The operation of a model and its arguments; of a raw query, its text and values. */
function statementOf (model: string | undefined, operation: string, args: unknown): [string, parameters: unknown] {
  if (model !== undefined) return [`${model}.${operation}`, args]
  if (Array.isArray(args)) return [String(args[0]), args.slice(1)]
  const { text, sql, values } = Object(args) as Raw
  return [text ?? sql ?? operation, values ?? args]
}

function rowsOf (result: unknown): number | undefined {
  if (Array.isArray(result)) return result.length
  if (typeof result === 'number') return result
  if (result === null) return 0
  const { count } = Object(result) as { count?: unknown }
  return typeof count === 'number' ? count : undefined
}
