const originals = new WeakMap<object, object>()

/** A function that Fastify takes for another: it tells hooks that call back from those that return a promise by their arity and their kind. */
export function like<F extends (...args: never[]) => unknown> (original: F, wrapper: F): F {
  const same = original.constructor.name === 'AsyncFunction' ? async function (this: unknown, ...args: never[]) { return await wrapper.apply(this, args) } as F : wrapper
  originals.set(same, original)
  return Object.defineProperties(same, { name: { value: original.name, configurable: true }, length: { value: original.length, configurable: true } })
}

/** The function that the application brought, of one that stands for it; any other is itself. */
export function originalOf<F extends object> (hook: F): F {
  let original = hook
  while (originals.has(original)) original = originals.get(original) as F
  return original
}

/** Whether a function stands for another, or is it. */
export function standsFor (hook: object, other: object): boolean {
  for (let at: object | undefined = hook; at !== undefined; at = originals.get(at)) if (at === other) return true
  return false
}
