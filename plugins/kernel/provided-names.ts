import type { FastifyInstance } from 'fastify'
import { keptBy } from './fastify-symbols.js'

/** What is given a name: the instance itself, its requests or its replies. */
export type NameHolder = 'instance' | 'request' | 'reply'

/** What stands under a name: a method, or what reads and writes it. */
export type Provided = ((...args: never[]) => unknown) | { getter: () => unknown, setter?: (value: never) => void }

const DECORATE = { instance: 'decorate', request: 'decorateRequest', reply: 'decorateReply' } as const
const CLASS = { request: 'fastify.Request', reply: 'fastify.Reply' } as const

type Name = string | symbol
interface Holder { prototype: object, props?: Prop[] }
interface Prop { key: Name }

const kNames = Symbol('hindsight.names')
const names = new WeakMap<FastifyInstance, Record<NameHolder, Set<Name>>>()

/**
 * Gives an instance, its requests or its replies something under a name. It is a decorator that makes room: what the application, or
 * another plugin of it, has under that name, or gives it later, stands in its place.
 */
export function provide (app: FastifyInstance, holder: NameHolder, name: string, value: Provided): void {
  const { place, props } = placeOf(app, holder)
  if (place === null) {
    app[DECORATE[holder] as 'decorateRequest'](name, value as never)
    return
  }
  if (name in place || props.some(({ key }) => key === name)) return
  Object.defineProperty(place, name, typeof value === 'function'
    ? { value, writable: true, enumerable: true, configurable: true }
    : { get: value.getter, set: value.setter ?? owned(name), configurable: true })
  names.get(app)?.[holder].add(name)
}

/** The same for a value that each request or reply begins with. */
export function provideValue (app: FastifyInstance, holder: 'request' | 'reply', name: Name, value: unknown): void {
  const { place, props } = placeOf(app, holder)
  if (place !== null && (name in place || props.some(({ key }) => key === name))) return
  app[DECORATE[holder] as 'decorateRequest'](name as string, value as never)
  names.get(app)?.[holder].add(name)
}

/** Makes room for the application's own names from here on. */
export function makeRoom (app: FastifyInstance): void {
  const provided = { instance: new Set<Name>(), request: new Set<Name>(), reply: new Set<Name>() }
  names.set(app, provided)
  for (const holder of ['instance', 'request', 'reply'] as const) {
    const method = DECORATE[holder]
    const decorate = app[method] as (this: FastifyInstance, name: Name, ...rest: unknown[]) => FastifyInstance
    const taken = new WeakMap<object, Set<Name>>()
    // Fastify passes over requests and replies that nothing was given to by its own functions.
    if (holder !== 'instance') decorate.call(app, kNames, () => {})

    app[method] = function (this: FastifyInstance, name: Name, ...rest: unknown[]) {
      const { place, props } = placeOf(this, holder)
      if (place !== null && provided[holder].has(name) && taken.get(place)?.has(name) !== true) {
        // An encapsulated plugin has requests of its own kind: what it calls so is nothing to the others.
        taken.set(place, (taken.get(place) ?? new Set()).add(name))
        if (this === app) delete (place as Record<Name, unknown>)[name]
        const at = props.findIndex(({ key }) => key === name)
        if (at !== -1) props.splice(at, 1)
      }
      return decorate.call(this, name, ...rest)
    } as never
  }
}

// A plugin that finds the name there may not declare it, and still write to it.
function owned (name: string): (this: object, value: unknown) => void {
  return function (value) {
    Object.defineProperty(this, name, { value, writable: true, enumerable: true, configurable: true })
  }
}

// Null where another Fastify keeps it elsewhere.
function placeOf (app: FastifyInstance, holder: NameHolder): { place: object | null, props: Prop[] } {
  if (holder === 'instance') return { place: app, props: [] }
  const found = keptBy<Holder>(app, CLASS[holder])
  return { place: found?.prototype ?? null, props: found?.props ?? [] }
}
