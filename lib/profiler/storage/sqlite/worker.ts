import { parentPort, workerData } from 'node:worker_threads'
import { SqlStorage } from '../sql.js'
import type { ProfileStorage, StorageBounds } from '../storage.js'
import { SqliteDatabase } from './database.js'

/** What the main thread posts: a call of a method, on the store of a path. */
export interface Call {
  id: number
  path: string
  bounds: Partial<StorageBounds>
  method: Exclude<keyof ProfileStorage, 'settle'>
  args: readonly unknown[]
}

/** What the worker posts: the answer to a call, or a warning about a store. Cloning would lose the class of an error. */
export type Reply =
  { id: number, value: unknown } |
  { id: number, error: { message: string, code?: unknown, statusCode?: unknown } } |
  { path: string, warning: string }

/** Databases by their paths, and the calls that are being answered. */
const stores = new Map<string, { database: SqliteDatabase, calls: Set<Promise<unknown>> }>()

async function answer ({ path, bounds, method, args }: Call): Promise<unknown> {
  let store = stores.get(path)
  if (store === undefined) {
    const database = new SqliteDatabase(path, (warning) => parentPort?.postMessage({ path, warning } satisfies Reply))
    stores.set(path, store = { database, calls: new Set() })
  }
  const { database, calls } = store
  if (method === 'close') {
    stores.delete(path)
    // A call of several transactions would open the file again.
    await Promise.allSettled(calls)
  }
  const storage = new SqlStorage(database, bounds) as unknown as Record<string, (...args: readonly unknown[]) => unknown>
  const call = Promise.resolve(storage[method]?.(...args))
  calls.add(call)
  return await call.finally(() => calls.delete(call))
}

async function reply (call: Call): Promise<Reply> {
  try {
    return { id: call.id, value: await answer(call) }
  } catch (error) {
    const { message, code, statusCode } = error as Error & { code?: unknown, statusCode?: unknown }
    return { id: call.id, error: { message, ...(code !== undefined && { code }), ...(statusCode !== undefined && { statusCode }) } }
  }
}

parentPort?.on('message', async (call: Call) => {
  parentPort?.postMessage(await reply(call))
  // For a main thread that waits without reading messages.
  Atomics.add((workerData as { answered: Int32Array }).answered, 0, 1)
  Atomics.notify((workerData as { answered: Int32Array }).answered, 0)
})
