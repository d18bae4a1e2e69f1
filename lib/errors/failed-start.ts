import type { DeclaredRoute } from '../routing/route-table.js'
import { declaredPlace, functionPlace } from './declared-place.js'
import { flattenError } from './masked-exceptions.js'
import { toPath } from './scripts.js'
import { firstOwnFrame, frameAt, placeOf } from './stack-frame.js'
import { messageOf, read } from './thrown-value.js'

/**
 * Where the start of an application has failed, `file:line` or a file: in the stack of the error, otherwise the plugin,
 * the route or the importing file that it is about; empty where that is not certain.
 */
export function placeOfFailedStart (error: unknown, routes: readonly DeclaredRoute[] = []): string {
  const frame = firstOwnFrame(flattenError(error))
  const importing = importingFile(error)
  // The call may be one of a loader.
  if (frame !== undefined && (importing ?? frame.file) === frame.file) return placeOf(frame)
  const place = importing ?? pluginPlace(error) ?? routePlace(messageOf(error), routes) ?? ''
  return place === '' ? '' : placeOf(frameAt(place))
}

// avvio has the function of a plugin that did not end in time; Fastify's error has the one of avvio as its cause.
function pluginPlace (error: unknown): string | null | undefined {
  const plugin = read(read(error, 'cause'), 'fn') ?? read(error, 'fn')
  return typeof plugin === 'function' ? functionPlace(plugin) : undefined
}

// Schemas are compiled when all routes have been declared: no call of the stack is the application's.
function routePlace (message: string, routes: readonly DeclaredRoute[]): string | undefined {
  const { declaredAt } = routes.find(({ methods, pattern }) =>
    methods.some((method) => message.includes(` schema for ${method}: ${pattern}, `))) ?? {}
  return declaredAt == null ? undefined : declaredPlace(declaredAt)?.source
}

function importingFile (error: unknown): string | undefined {
  const [, importing] = /^Cannot find .* imported from (.+)$/m.exec(messageOf(error)) ?? []
  const required: unknown = read(read(error, 'requireStack'), '0')
  const file = importing ?? required
  return typeof file === 'string' ? toPath(file) : undefined
}
