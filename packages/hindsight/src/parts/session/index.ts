import { types } from 'node:util'
import { classOf } from '../../errors/thrown-value.js'
import { readEntries } from '../../mask/read-object.js'
import type { RequestTrace } from '../../recording/trace.js'
import { fieldsContent, noteText, pairsSection } from '../../view/components.js'
import { snapshotOf } from '../collect.js'
import { definePart } from '../part.js'
import type { Data } from '../read.js'
import { flattenPaths } from '../section.js'

/** Values of a session that are read. */
const MAX_VALUES = 1_000

/** The values of the session, masked by their names and shapes; a lifecycle adds where it came from. */
export const session = definePart<() => Data | undefined>({
  name: 'session',
  respond: recordSession,
  panel: {
    label: 'Session',
    group: 'request',
    render ({ values, ...facts }) {
      const [hasValues, hasFacts] = [values, facts].map((one) => Object.keys(Object(one) as object).length > 0)
      if (!hasValues && !hasFacts) return noteText('The session is empty.')
      return [hasFacts && fieldsContent('Session', facts), hasValues && pairsSection('Values', values)]
    }
  },
  comparison: [{ order: 50 }],
  differences: [{ order: 70, values: ({ values }) => flattenPaths(values, 'session value') }]
})

/** The session that a plugin has put on the request. */
function recordSession ({ request, scope, recording, services, mask }: RequestTrace): void {
  if (services.lifecycle !== null) return
  const given: unknown = Object.getOwnPropertyDescriptor(request, 'session')?.value
  if (typeof given !== 'object' || given === null) return
  const isProxy = types.isProxy(given)
  // That of @fastify/secure-session is a proxy, whose method `data` is documented.
  if (isProxy && !scope.hasDecorator('createSecureSession')) return
  recording.collect(session, () => {
    const values = sessionValues(isProxy ? (given as { data: () => object }).data() : given)
    if (Object.keys(values).length === 0) return undefined
    return { values: mask.value(values) }
  })
}

/** A copy of the values of a session, without its cookie. No code of the application is called. */
export function sessionValues (found: object): Data {
  const fields = readEntries(found, MAX_VALUES).entries.filter(([name]) => name !== 'cookie')
  // What is copied is another object than the session, which its values may reference.
  const shownOf = (value: object): unknown => value === found ? '[circular]' : plainOf(value)
  return snapshotOf(Object.fromEntries(fields), '', shownOf) as Data
}

/** An object whose fields can be read without a method of its class, or what stands for it. */
function plainOf (value: object): unknown {
  if (types.isProxy(value) || types.isDate(value)) return value
  const prototype: unknown = Object.getPrototypeOf(value)
  if (types.isProxy(prototype)) return '[object]'
  const isPlain = prototype === null || prototype === Object.prototype || prototype === Array.prototype
  if (!isPlain) return `[${classOf(value)}]`
  return Object.hasOwn(value, 'toJSON') ? '[object]' : value
}
