import { cachedByObject, withStackLimit } from '../call.js'
import { hookTitle, isLifecycleStage } from '../recording/events.js'
import type { RequestTrace } from '../recording/trace.js'
import { firstAppFrame, type StackFrame } from './exception.js'
import { excerptAt } from './source-file.js'
import { frameAt, outsideCalls, packageOf, placeOf, splitStack, stackFrames } from './stack-frame.js'
import { textOfStack } from './thrown-value.js'

/** Where something was declared. */
interface DeclaredPlace {
  /** `file:line` in the source (source maps applied); the file where no source map leads to the line. */
  source: string
  /** The package of the file; null for the application's own. */
  package: string | null
  /** Whether Fastify was loading a plugin, whose function made the declaration before it waited for anything. */
  isLoading: boolean
}

const FRAMEWORK: ReadonlySet<string> = new Set(['fastify', 'avvio', 'fastify-plugin'])

/**
 * The first call in the stack of a declaration that is neither Hindsight's nor Fastify's; null without one. Each
 * profile has the places of its route and hooks: reading their stacks each time is a fifth of its cost.
 */
export const declaredPlace: (declaration: Error) => DeclaredPlace | null = cachedByObject(firstOutside)

function firstOutside (declaration: Error): DeclaredPlace | null {
  const calls = outsideCalls(declaration).map((call) => ({ ...call, package: packageOf(call.file) }))
  const first = calls.findIndex((call) => call.package === null || !FRAMEWORK.has(call.package))
  const call = calls[first]
  if (call === undefined) return null
  const loader = calls.slice(first).find((one) => one.package === 'avvio')
  return {
    source: call.line > 0 ? `${call.file}:${call.line}` : call.file,
    package: call.package,
    isLoading: loader?.function === 'Plugin.exec'
  }
}

/** The declaration of a request's route, as a frame with its source; null where it is not the application's. */
export function handlerFrame ({ request, declaredRoute, recording }: RequestTrace): StackFrame | null {
  const { method, routeOptions: { handler, url } } = request
  const { declaredAt = null } = declaredRoute ?? {}
  if (request.is404 || declaredAt === null) return null
  const name = handler.name.replace(/^(?:bound )+/, '') || `the handler of ${method} ${url}`
  return sourceFrame(declaredPlace(declaredAt)?.source ?? '', recording.controller ?? name)
}

/** The hook of the application that has failed, or whose response was refused; null where there is none. */
export function hookFrame ({ failure, raisedBy }: RequestTrace['recording']): StackFrame | null {
  const hook = failure?.refused === undefined ? raisedBy : failure.refused.hook
  if (hook == null) return null
  return sourceFrame(hook.source ?? '', hookTitle(hook))
}

/** What has raised an error: a listener or a hook. */
export interface Raiser { stage: string, listener: string, source?: string | undefined }

/** A listener by its name and stage; a hook by its stage, name, plugin and place. */
export function hookText (
  { stage, listener, plugin = listener, source }: Raiser & { plugin?: string | undefined }
): string {
  if (isLifecycleStage(stage)) return `listener ${listener} of ${stage}`
  // A function that is declared in the options of a route has the name of its property.
  let text = `${stage} hook`
  if (listener !== stage) text += ` "${listener}"`
  if (listener !== stage && plugin !== listener) text += ` of ${plugin}`
  if (source !== undefined) text += ` (${placeOf(frameAt(source))})`
  return text
}

/** A place, `file:line`, as a frame with its source; null where it is not the application's. */
function sourceFrame (place: string, name: string): StackFrame | null {
  const frame = frameAt(place, name)
  if (!frame.own) return null
  const excerpt = excerptAt(frame.file, frame.line, 2, 8)
  if (excerpt === undefined) return frame
  return { ...frame, excerpt }
}

/** The frame of the application nearest to the error of a response, otherwise that of its code, or null. */
export function applicationFrame (trace: RequestTrace): StackFrame | null {
  const { exceptions = [] } = trace.recording
  return firstAppFrame(exceptions.toReversed()) ?? hookFrame(trace.recording) ?? handlerFrame(trace)
}

/** Calls of a logger that are looked at, with those of its hooks. */
const MAX_CALLS = 50

/** Whether Fastify writes a line now: the application may change messages, and logs errors that it has handled. */
export function isLoggedByFastify (): boolean {
  const packages = outsideCalls(withStackLimit(MAX_CALLS, () => new Error())).map(({ file }) => packageOf(file))
  return packages[packages.lastIndexOf('pino') + 1] === 'fastify'
}

/** Whether Fastify has called `reply.send()` for a handler that did not, by the calls that led to it. */
export function isSentByFastify (calls: Error): boolean {
  return packageOf(senderIn(calls) ?? '') === 'fastify'
}

/** The file of the function that has called `reply.send()`, by the calls that led to it; null without calls. */
export function senderIn (calls: Error): string | null {
  const frames = stackFrames(splitStack(textOfStack(calls), '').frames)
  // Instrumentation wraps the function.
  if (frames.length === 0) return null
  return frames.find((frame) => !/(?:^|\.)send$/.test(frame.function))?.file ?? ''
}
