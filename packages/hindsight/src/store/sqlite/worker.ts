import { parentPort, workerData } from 'node:worker_threads'
import { SqlStorage } from '../sql.js'
import type { ProfileStorage, StorageBounds } from '../storage.js'
import { SqliteDatabase } from './database.js'

export interface StoreCall {
  id: number
  path: string
  bounds: Partial<StorageBounds>
  method: Exclude<keyof ProfileStorage, 'settle' | 'warmUp'>
  args: readonly unknown[]
}

/** A message of the worker: the result of a call, or a warning. Cloning would lose the class of an error. */
export type Reply =
  { id: number, value: unknown } |
  { id: number, error: { message: string, code?: unknown, statusCode?: unknown } } |
  { path: string, warning: string }

type Methods = Record<string, (...args: readonly unknown[]) => unknown>

/** Databases by their paths, with their pending calls. */
const stores = new Map<string, { database: SqliteDatabase, calls: Set<Promise<unknown>> }>()

async function run ({ path, bounds, method, args }: StoreCall): Promise<unknown> {
  const warn = (warning: string): void => { parentPort?.postMessage({ path, warning } satisfies Reply) }
  const opened = stores.get(path)
  const { database, calls } = opened ?? { database: new SqliteDatabase(path, true, warn), calls: new Set() }
  stores.set(path, { database, calls })
  if (method === 'close') {
    stores.delete(path)
    // A call of several transactions would open the file again.
    await Promise.allSettled(calls)
  }
  const storage = new SqlStorage(database, bounds) as unknown as Methods
  const call = Promise.resolve(storage[method]?.(...args))
  calls.add(call)
  return await call.finally(() => calls.delete(call))
}

parentPort?.on('message', async (call: StoreCall) => {
  const reply: Reply = await run(call).then((value) => ({ id: call.id, value }), ({ message, code, statusCode }) =>
    ({ id: call.id, error: { message, ...(statusCode !== undefined && { code, statusCode }) } }))
  parentPort?.postMessage(reply)
  // For a main thread that waits without reading messages.
  const { answered } = workerData as { answered: Int32Array }
  Atomics.add(answered, 0, 1)
  Atomics.notify(answered, 0)
})
