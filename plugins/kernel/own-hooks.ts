const own = new WeakSet<object>()

/** Marks a hook as one of ours, which is no hook of the application. */
export function ownHook<F extends object> (hook: F): F {
  own.add(hook)
  return hook
}

/** Whether a hook is one of ours, or has been looked at already. */
export function isOwnHook (hook: object): boolean {
  return own.has(hook)
}
