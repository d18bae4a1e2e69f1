import type { Debugger, Runtime, Session } from 'node:inspector'
import { originalPlace, toPath } from './stack-frame.js'

const HELD = 'hindsight.function'

/** The URLs of scripts by their ids: the inspector lists all scripts of the process at once. */
const urls = new Map<string, string>()

/** Where a function is defined, `file:line`, in the source that was written; null where the engine names no file. */
export function functionPlace (callable: object): string | null {
  const held = globalThis as unknown as Record<symbol, unknown>
  try {
    const { Session } = process.getBuiltinModule('node:inspector')
    const session = new Session()
    session.connect()
    // The inspector finds objects by an expression.
    held[Symbol.for(HELD)] = callable
    try {
      return placeIn(session)
    } finally {
      delete held[Symbol.for(HELD)]
      session.disconnect()
    }
  } catch {
    return null
  }
}

function placeIn (session: Session): string | null {
  const expression = `globalThis[Symbol.for('${HELD}')]`
  const { result: { objectId } } = ask<Runtime.EvaluateReturnType>(session, 'Runtime.evaluate', { expression })
  const found = ask<Runtime.GetPropertiesReturnType>(session, 'Runtime.getProperties', { objectId })
  const property = found.internalProperties?.find(({ name }) => name === '[[FunctionLocation]]')
  const location = property?.value?.value as Debugger.Location | undefined
  if (location === undefined) return null
  const { scriptId, lineNumber, columnNumber = 0 } = location
  if (!urls.has(scriptId)) {
    session.on('Debugger.scriptParsed', ({ params }) => { urls.set(params.scriptId, params.url) })
    ask(session, 'Debugger.enable')
  }
  const url = urls.get(scriptId) ?? ''
  if (url === '') return null
  const { file, line } = originalPlace(url, lineNumber, columnNumber) ?? { file: toPath(url), line: lineNumber + 1 }
  return `${file}:${line}`
}

// In its own thread the inspector answers before `post` returns.
function ask<T> (session: Session, method: string, params: object = {}): T {
  let answer: unknown
  session.post(method, params, (error, result) => {
    if (error !== null) throw new Error(`${method}: ${error.message}`)
    answer = result
  })
  return answer as T
}
