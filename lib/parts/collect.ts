import type { FastifyReply, FastifyRequest } from 'fastify'
import { messageOf } from '../errors/thrown-value.js'
import { isPromise } from '../lifecycle/hooks.js'
import type { Recording } from '../recording/recording.js'
import type { Collector } from './part.js'
import { snapshot } from './snapshot.js'

/** Runs the collectors of the application: data by their names, `{ error }` of one that fails. */
export function collectData (
  collectors: readonly Collector[], request: FastifyRequest, reply: FastifyReply
): Record<string, unknown> {
  const data: Record<string, unknown> = {}
  for (const { name, collect } of collectors) {
    try {
      const result = synchronous(collect(request, reply) as unknown)
      // A copy: the application may change its data later.
      data[name] = result === undefined ? null : snapshot(result)
    } catch (error) {
      data[name] = { error: messageOf(error) }
    }
  }
  return data
}

/** The data of a collector of Hindsight; `{ error }` if it fails. */
export function collectedBy ({ collected }: Recording, name: string): unknown {
  const data = collected[name]
  try {
    return typeof data === 'function' ? data() as unknown : data
  } catch (error) {
    return { error: messageOf(error) }
  }
}

/** The result of a function of an application; throws for a promise. */
export function synchronous<T> (result: T): T {
  if (!isPromise(result)) return result
  // Its rejection would end the process.
  result.then(undefined, () => {})
  throw new Error('it returned a promise')
}
