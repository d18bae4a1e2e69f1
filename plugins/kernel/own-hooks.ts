import type { Stage } from './stage.js'

/** What a hook of ours does, where it is that of a listener. */
export interface ListenerMark {
  stage: Stage
  listener: string
}

const own = new WeakMap<object, ListenerMark | null>()

/** Marks a hook as one of ours, which is no hook of the application; `mark` says of which listener. */
export function ownHook<F extends object> (hook: F, mark: ListenerMark | null = null): F {
  own.set(hook, mark)
  return hook
}

/** Whether a hook is one of ours, or has been looked at already. */
export function isOwnHook (hook: object): boolean {
  return own.has(hook)
}

/** The listener whose hook it is; null where it is that of none. */
export function listenerOf (hook: object): ListenerMark | null {
  return own.get(hook) ?? null
}
