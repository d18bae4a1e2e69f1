import type { FastifyInstance } from 'fastify'
import { keptBy } from './fastify-symbols.js'
import type { Slot } from './lifecycle.js'
import { Skip } from './verdict.js'

/** Plugins that an application may register itself, with the listeners that do the same. */
export const OTHERS: Readonly<Record<string, readonly string[]>> = {
  '@fastify/cors': ['cors', 'cors-vary'],
  '@fastify/session': ['session'],
  '@fastify/secure-session': ['session'],
  '@fastify/helmet': ['content-security-policy', 'clickjacking', 'xss-protection', 'referrer-policy', 'content-type']
}

const REGISTERED = Symbol.for('registered-plugin')
type Registered = FastifyInstance & { [REGISTERED]?: ArrayLike<string> }

/** The names of the plugins that were registered so far, ours among them. */
export function registeredSoFar (app: FastifyInstance): readonly string[] {
  return Array.from((app as Registered)[REGISTERED] ?? [])
}

/**
 * Leaves to the plugins of the application what they do: what is done twice may come out as neither of them says. One that was registered in a part of
 * the application does it for the routes of that part. `ours`: those that we have registered.
 */
export function yieldToOthers (app: FastifyInstance, slots: readonly Slot[], ours: readonly string[]): void {
  for (const [name, listeners] of Object.entries(OTHERS)) {
    const left = new Skip(`left to ${name}, which the application registers`)
    const count = (list: readonly string[]): number => list.filter((one) => one === name).length
    const parts = partsWith(app, (instance) => count(registeredSoFar(instance)) > count(ours))
    const isEverywhere = parts.includes(app)
    for (const slot of slots) {
      if (!listeners.includes(slot.listener)) continue
      if (slot.reason === null) leave(slot, left, isEverywhere ? null : parts)
      else if (isEverywhere) slot.reason = left.reason
    }
  }
}

function leave (slot: Slot, left: Skip, parts: readonly FastifyInstance[] | null): void {
  if (parts === null) slot.left = left
  else for (const part of parts) (slot.leftIn ??= new Map()).set(part, left)
}

/** Why a listener's job is left to a plugin of the application in a part of it; null where it is not. */
export function leftBy ({ left, leftIn }: Slot, part: FastifyInstance): Skip | null {
  return left ?? leftIn?.get(part) ?? null
}

// What a part has, those within it have too.
function partsWith (instance: FastifyInstance, has: (instance: FastifyInstance) => boolean, isWithin = false): FastifyInstance[] {
  const isOne = isWithin || has(instance)
  const within = keptBy<FastifyInstance[]>(instance, 'fastify.children') ?? []
  return [...(isOne ? [instance] : []), ...within.flatMap((child) => partsWith(child, has, isOne))]
}
