import type { Stage } from './stage.js'

/** The listener that a hook of Hindsight belongs to. */
export interface ListenerMark {
  stage: Stage
  listener: string
}

const own = new WeakMap<object, ListenerMark | null>()

/** Marks a hook as one of Hindsight's: it is not recorded as a hook of the application. */
export function ownHook<F extends object> (hook: F, mark: ListenerMark | null = null): F {
  own.set(hook, mark)
  return hook
}

/** Whether a hook is one of Hindsight's. */
export function isOwnHook (hook: object): boolean {
  return own.has(hook)
}

/** The listener that a hook belongs to; null where it is none. */
export function listenerOf (hook: object): ListenerMark | null {
  return own.get(hook) ?? null
}
