import { dirname, resolve } from 'node:path'
import { textOfFile, withStackLimit } from '../call.js'
import type { RouteTable } from '../routing/route-table.js'
import { visibleText } from '../view/text.js'
import { declaredPlace } from './declared-place.js'
import { firstAppFrame } from './exception.js'
import { flattenError } from './masked-exceptions.js'
import { excerptAt, numberedLines } from './source-file.js'
import { toPath } from './source-map.js'
import { frameAt, isAppFile, placeOf, stackFrames } from './stack-frame.js'
import { fieldsOf, messageOf, textOfStack } from './thrown-value.js'

/**
 * Where the start of an application has failed, `file:line` or a file: in the stack of the error, otherwise the route
 * or the importing file that it is about; empty where that is not certain.
 */
export function placeOfFailedStart (error: unknown, tables: readonly RouteTable[] = []): string {
  const frame = firstAppFrame(flattenError(error))
  const importing = importPlace(error)
  // The call may be one of a loader.
  if (frame !== undefined && (importing === undefined || frameAt(importing).file === frame.file)) return placeOf(frame)
  const place = importing ?? routePlace(messageOf(error), tables) ?? ''
  if (place === '') return ''
  return placeOf(frameAt(place))
}

/**
 * The place of a failed start and its source, as lines; empty where it is unknown. `refused`: the error of the
 * application's server, as of a port in use.
 */
export function sourceOfFailedStart (error: unknown, tables: readonly RouteTable[] = [], refused?: unknown): string {
  let place = placeOfFailedStart(error, tables)
  if (place === '' && error === refused) place = listenPlace()
  if (place === '') return ''
  const { file, line } = frameAt(place)
  const excerpt = excerptAt(resolve(file), line, 2)
  const first = firstDeclaration(error, tables)
  let text = `${place}\n`
  if (excerpt !== undefined) text += `${visibleText(numberedLines(excerpt, line))}\n\n`
  if (first !== undefined) text += `The first declaration is at ${first}\n\n`
  return text
}

// No call of the application is in the stack.
/** The only line of the file that Node.js has started which calls `listen`; empty without one. */
function listenPlace (): string {
  const [, file = ''] = process.argv
  if (!isAppFile(file)) return ''
  const lines = textOfFile(file).split('\n').map((text, i) => ({ text, line: i + 1 }))
  const [only, ...others] = lines.filter(({ text }) => text.includes('.listen('))
  if (only === undefined || others.length > 0) return ''
  return placeOf(frameAt(`${file}:${only.line}`))
}

/** Where a route was declared that Fastify refuses to declare once more. */
export function firstDeclaration (error: unknown, tables: readonly RouteTable[]): string | undefined {
  const [, pattern] = /^Method '.*' already declared for route '(.*)'$/.exec(messageOf(error)) ?? []
  if (pattern === undefined) return undefined
  const [first] = tables.flatMap((table) => table.firstWith(pattern) ?? [])
  const place = first?.declaredAt && declaredPlace(first.declaredAt)
  return place ? placeOf(frameAt(place.source)) : undefined
}

/**
 * An error whose calls are of Hindsight and Fastify alone, with those of the application in the stacks of registrations
 * instead, if these are the same: Node.js shows the first call of an error that ends the process, and the reason is in
 * the message. Errors of other classes are no messages to the application.
 */
export function withRegistration (error: unknown, registrations: readonly Error[]): unknown {
  if (!(error instanceof Error) || error.constructor !== Error || declaredPlace(error) !== null) return error
  const { cause, message } = error
  const shown = withStackLimit(0, () => new Error(message, { ...cause !== undefined && { cause } }))
  const calls = new Set(registrations.map(applicationCalls).filter((lines) => lines !== ''))
  if (calls.size === 1) shown.stack += `\n${[...calls][0]}`
  return shown
}

/** The lines of a stack from the first call of the application on. */
function applicationCalls (error: Error): string {
  const lines = textOfStack(error).split('\n')
  const first = lines.findIndex((line) => stackFrames(line).some(({ own }) => own))
  if (first === -1) return ''
  return lines.slice(first).join('\n')
}

// Schemas are compiled when all routes have been declared: no call of the stack is the application's.
function routePlace (message: string, tables: readonly RouteTable[]): string | undefined {
  const { declaredAt } = tables.flatMap(({ routes }) => routes).find(({ methods, pattern }) =>
    methods.some((method) => message.includes(` schema for ${method}: ${pattern}, `))) ?? {}
  if (declaredAt == null) return undefined
  return declaredPlace(declaredAt)?.source
}

/** The file, or its line, that imports a module which does not exist. */
function importPlace (error: unknown): string | undefined {
  const found = /^Cannot find (?:package|module) '(.*)' imported from (.+)$/m.exec(messageOf(error))
  const [, missing, importing] = found ?? []
  const [required] = [fieldsOf(Object(error) as object).requireStack].flat()
  const importer = importing ?? required
  if (typeof importer !== 'string') return undefined
  const file = toPath(importer)
  const line = missing !== undefined && lineWith(file, missing)
  return line ? `${file}:${line}` : file
}

/** The first line of a file that names a module in quotes; 0 where none does. */
function lineWith (file: string, module: string): number {
  const names = (line: string): boolean => [...line.matchAll(/(['"])(.+?)\1/g)]
    .some(([, , name = '']) => name === module || (name.startsWith('.') && resolve(dirname(file), name) === module))
  return textOfFile(file).split('\n').findIndex(names) + 1
}
