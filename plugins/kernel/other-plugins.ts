import type { FastifyInstance } from 'fastify'
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

/** Leaves to the plugins of the application what they do: what is done twice may come out as neither of them says. `ours`: those that we have registered. */
export function yieldToOthers (app: FastifyInstance, slots: readonly Slot[], ours: readonly string[]): void {
  const found = new Set<string>()
  collect(app, ours, found)
  for (const [name, listeners] of Object.entries(OTHERS)) {
    if (!found.has(name)) continue
    const reason = `left to ${name}, which the application registers`
    for (const slot of slots) {
      if (!listeners.includes(slot.listener)) continue
      if (slot.reason !== null) slot.reason = reason
      else slot.left = new Skip(reason)
    }
  }
}

function collect (instance: FastifyInstance, ours: readonly string[], found: Set<string>): void {
  const names = Array.from((instance as Registered)[REGISTERED] ?? [])
  for (const name of Object.keys(OTHERS)) {
    const count = (list: readonly string[]): number => list.filter((one) => one === name).length
    if (count(names) > count(ours)) found.add(name)
  }
  const children = Object.getOwnPropertySymbols(instance).find((symbol) => symbol.description === 'fastify.children')
  for (const child of children === undefined ? [] : (instance as unknown as Record<symbol, FastifyInstance[]>)[children] ?? []) collect(child, ours, found)
}
