import { existsSync, readFileSync, realpathSync } from 'node:fs'
import type { Debugger, Session } from 'node:inspector'
import { findSourceMap, SourceMap, type SourceMapPayload } from 'node:module'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { attempt } from '../call.js'

/** A place in a source file; `line` and `column` are 1-based, and 0 where they are unknown. */
export interface Place { file: string, line: number, column: number }

const MAX_NAME = 2_000
const IN_PACKAGE = /[\\/]node_modules[\\/]/

/** How positions in a script lead to its source: as they are, by its source map, or not at all. */
type Relation = 'same' | 'unknown' | SourceMap

/** The scripts of the process by their ids: the inspector reports all of them at once, in 25 ms. */
const scripts = new Map<string, { url: string, hasMap: boolean, file?: string, relation?: Relation }>()
let current: Session | undefined

/** Calls a function with a session of the inspector. Throws where Node.js has no inspector, or does not permit it. */
export function inspect<T> (use: (session: Session) => T): T {
  if (current !== undefined) return use(current)
  const { Session } = process.getBuiltinModule('node:inspector')
  const session = new Session()
  session.connect()
  try {
    current = session
    return use(session)
  } finally {
    current = undefined
    session.disconnect()
  }
}

/**
 * Calls a method of the inspector and returns its result: a session of its own thread replies before `session.post`
 * returns. Throws where the method fails.
 */
export function post<T> (session: Session, method: string, params: object = {}): T {
  let reply: unknown
  session.post(method, params, (error, result) => {
    if (error !== null) throw new Error(`${method}: ${error.message}`)
    reply = result
  })
  return reply as T
}

function listScripts (session: Session): void {
  const add = ({ params }: { params: Debugger.ScriptParsedEventDataType }): void => {
    const { scriptId, url, sourceMapURL = '' } = params
    if (!scripts.has(scriptId)) scripts.set(scriptId, { url, hasMap: sourceMapURL !== '' })
  }
  session.on('Debugger.scriptParsed', add)
  post(session, 'Debugger.enable')
  session.off('Debugger.scriptParsed', add)
}

/** That of this thread: fake timers of tests may replace the global one. */
const { queueMicrotask } = globalThis
let isListed = false

/** What `find` returns, of all scripts: they are listed at most once while no code of the application can run. */
function findListed<T> (session: Session, find: () => T | undefined): T | undefined {
  const found = find()
  // Frames of another process are in no script of this one.
  if (found !== undefined || isListed) return found
  isListed = true
  queueMicrotask(() => { isListed = false })
  listScripts(session)
  return find()
}

/** The source of a position in a script, which is 0-based; null where it cannot be found. */
export function sourceOf ({ scriptId, lineNumber, columnNumber = 0 }: Debugger.Location, given?: string): Place | null {
  return inspect((session) => {
    if (!scripts.has(scriptId)) listScripts(session)
    const url = given ?? scripts.get(scriptId)?.url ?? ''
    if (url === '') return null
    const original = originalPlace(url, lineNumber, columnNumber)
    if (original !== null) return original
    const relation = relationOf(session, scriptId, url)
    if (relation === 'unknown') return null
    if (relation !== 'same') return placeIn(relation, url, lineNumber, columnNumber)
    return { file: toPath(url), line: lineNumber + 1, column: columnNumber + 1 }
  })
}

function relationOf (session: Session, scriptId: string, url: string): Relation {
  const script = scripts.get(scriptId)
  if (script?.url !== url || IN_PACKAGE.test(url)) return 'same'
  if (script.relation === undefined) {
    post(session, 'Debugger.enable')
    const { scriptSource } = post<Debugger.GetScriptSourceReturnType>(session, 'Debugger.getScriptSource', { scriptId })
    script.relation = relationTo(toPath(url), scriptSource)
  }
  return script.relation
}

function relationTo (file: string, text: string): Relation {
  const [, data] = /^\/\/[#@] sourceMappingURL=data:[^,]*;base64,([\w+/=]+)\s*$/m.exec(text) ?? []
  if (data !== undefined) {
    const map = JSON.parse(Buffer.from(data, 'base64').toString()) as SourceMapPayload
    // Node.js adds the root only to the maps that it has found itself.
    const root = map.sourceRoot ? map.sourceRoot.replace(/\/?$/, '/') : ''
    return new SourceMap({ ...map, sources: map.sources.map((source) => root + source) })
  }
  const source = textOf(file)?.split('\n')
  // A bundler has named it, such as `webpack:///./src/a.ts?`: the text is compiled.
  if (source === undefined) return file.includes('://') ? 'unknown' : 'same'
  // Where types were erased, lines are blank or have spaces. Loaders may add to the first line, and lines at the end.
  const lines = text.split('\n')
  const isSame = lines.length >= source.length && source.every((line, i) => i === 0 || isErased(lines[i] ?? '', line))
  return isSame ? 'same' : 'unknown'
}

function isErased (line: string, source: string): boolean {
  return line === source || [...line].every((char, i) => char === source[i] || ' ;)\r'.includes(char))
}

/** The names of the methods of a call site that the functions of loaders call. */
const CALL_SITE = [
  'getThis', 'getTypeName', 'getFunction', 'getFunctionName', 'getMethodName', 'getFileName', 'getLineNumber',
  'getColumnNumber', 'getEvalOrigin', 'isToplevel', 'isEval', 'isNative', 'isConstructor', 'isAsync', 'isPromiseAll',
  'getPromiseIndex', 'getScriptNameOrSourceURL', 'getScriptHash', 'getPosition', 'getEnclosingLineNumber',
  'getEnclosingColumnNumber'
]

/**
 * The source of a place that a stack names, whose file a loader may have compiled. If `isMapped`, the function that has
 * made the stack, Node.js's or another `Error.prepareStackTrace`, may have applied a source map. Line and column are 0
 * where they are those of compiled code.
 */
export function sourceOfCall (place: Place, isMapped: boolean): Place {
  return attempt(() => inspect((session) => sourceBy(session, place, isMapped))) ?? place
}

function sourceBy (session: Session, place: Place, isMapped: boolean): Place {
  const { file, line, column } = place
  // To resolve the links of all packages takes 10 ms.
  const find = () => [...scripts].findLast(([, script]) => (script.file ??= toPath(script.url)) === file)
  const [scriptId, { url }] = findListed(session, find) ?? ['', { url: '' }]
  const ofNode = attempt(() => findSourceMap(url))
  const relation = ofNode ?? relationOf(session, scriptId, url)
  if (relation === 'same') return place
  const unknown = { ...place, line: 0, column: 0 }
  if (relation === 'unknown') return unknown
  const found = placeIn(relation, url, line - 1, column - 1)
  if (!isMapped) return found ?? unknown
  // A position that leads to no source is none of compiled code.
  const original = found ?? place
  const { prepareStackTrace } = Error
  // Without a function, Node.js makes the stack.
  if (typeof prepareStackTrace !== 'function') return ofNode === undefined ? original : place
  const shown = attempt(() => String(prepareStackTrace(new Error('The place of a call'), [callAt(place)]))) ?? ''
  const isShown = ({ line, column }: Place): boolean => new RegExp(`:${line}:${column}(?!\\d)`).test(shown)
  if (isShown(original)) return place
  // In a line without entries, such as one beyond the compiled code, Node.js finds an entry of another line.
  const entry = relation.findEntry(line - 1, Math.max(0, column - 1))
  const isCompiled = 'generatedLine' in entry && entry.generatedLine === line - 1
  return isShown(place) ? isCompiled ? original : place : unknown
}

function callAt ({ file, line, column }: Place): NodeJS.CallSite {
  const values: Record<string, unknown> = {
    getFileName: file, getScriptNameOrSourceURL: file, getLineNumber: line, getColumnNumber: column
  }
  class Call {
    toString (): string { return `${file}:${line}:${column}` }
  }
  for (const name of CALL_SITE) Object.defineProperty(Call.prototype, name, { value: () => values[name] ?? null })
  return new Call() as NodeJS.CallSite
}

/** The source of a 0-based position in a compiled file, by the source map of Node.js; null without one. */
export function originalPlace (url: string, line: number, column: number): Place | null {
  const map = attempt(() => findSourceMap(url))
  return map === undefined ? null : placeIn(map, url, line, column)
}

function placeIn (map: SourceMap, url: string, line: number, column: number): Place | null {
  const entry = map.findEntry(line, Math.max(0, column))
  if (!('originalSource' in entry) || !entry.originalSource) return null
  const name = attempt(() => new URL(entry.originalSource, pathToFileURL(toPath(url))).href)
  if (name === undefined) return null
  return { file: toPath(name), line: entry.originalLine + 1, column: entry.originalColumn + 1 }
}

/** The path of a `file:` URL or a file, also where it is reached by a link; any other name is returned as it is. */
export function toPath (name: string): string {
  const path = name.startsWith('file:') ? attempt(() => fileURLToPath(name)) ?? name : name.slice(0, MAX_NAME)
  // An option of Node.js preserves the links of a workspace.
  return isAbsolute(path) && IN_PACKAGE.test(path) ? attempt(() => realpathSync.native(path)) ?? path : path
}

/** A source in a source map of the process: its text there, and its file, where they are known. */
interface MappedSource { file: string, text: string | undefined }

/** The source of this name, from a source map or a script of the process. Where no file is found, the name is it. */
export function mappedSource (name: string): MappedSource | null {
  return attempt(() => inspect((session) => findListed(session, () => searchMaps(name)))) ?? null
}

function searchMaps (name: string): MappedSource | undefined {
  for (const { url, hasMap, relation } of scripts.values()) {
    if (!hasMap || IN_PACKAGE.test(url)) continue
    // Without `--enable-source-maps`, Node.js has no map: that in the script is used.
    const map = findSourceMap(url) ?? (relation instanceof SourceMap ? relation : undefined)
    const { sources = [], sourcesContent } = map?.payload ?? {}
    const index = sources.indexOf(name)
    if (index === -1) continue
    const text = sourcesContent?.[index] ?? undefined
    const files = filesBelow(dirname(resolve(toPath(url))), decodeURI(new URL(name).pathname))
    // Without the text, one of several files is not certain.
    const found = files.filter((file) => text === undefined ? files.length === 1 : textOf(file) === text)
    return { file: found[0] ?? name, text }
  }
  return [...scripts.values()].some(({ url }) => url === name) ? { file: name, text: undefined } : undefined
}

// Bundlers name a source relative to a folder that is above the bundle, and is not in the map.
function filesBelow (folder: string, path: string): string[] {
  const file = join(folder, path)
  const others = dirname(folder) === folder ? [] : filesBelow(dirname(folder), path)
  return existsSync(file) ? [file, ...others] : others
}

function textOf (file: string): string | undefined {
  return attempt(() => readFileSync(file, 'utf8').replace(/^\ufeff/, ''))
}
