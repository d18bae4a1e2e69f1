import { createHook } from 'node:async_hooks'

// What `process.nextTick` has queued once: as long as it lives, V8 keeps the shape that all such objects have.
let kept: object | null = null

/**
 * Keeps the shape of what `process.nextTick` queues. V8 forgets a shape that no object has at the moment of a collection, and code that has learnt
 * to make such objects by it makes them the slow way from then on: each request queues several, in processes that happened to collect at such a moment.
 */
export function keepTickShape (): void {
  if (kept !== null) return
  const hook = createHook({
    init (_id, type, _trigger, resource) {
      if (type === 'TickObject') kept = resource
    }
  })
  hook.enable()
  process.nextTick(() => {})
  hook.disable()
}
