/** Whether something has to be waited for; queries of some libraries are thenables of their own. */
export function isPromise (value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}
