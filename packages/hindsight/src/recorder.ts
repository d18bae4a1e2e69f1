/**
 * The entry point for frameworks that run a lifecycle of their own: the recorder, and what such a framework shares with
 * it. An application registers the plugin instead. `docs/reference/recorder.md` describes it.
 */
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import { beginServices } from './begin.js'
import type { HindsightOptions } from './options.js'
import type { Part } from './parts/part.js'
import { createTables as createPgTables, openPool as openPgPool } from './postgres.js'
import type { OpenedRecorder } from './record-lifecycle.js'
import type { Lifecycle } from './recording/trace.js'
import type { ProfilerPagesOptions } from './routes/profiler-pages.js'
import { ApplicationServices, prepareServices } from './services.js'

/**
 * Opens the recorder for a lifecycle: decorates the application with `app.hindsight`, begins a recording with each
 * request, and records the hooks and handlers of the application. `parts`: what its profiles have beside the parts of
 * Hindsight. Rejects for an invalid option, with its name.
 */
export async function openRecorder (
  app: FastifyInstance, options: HindsightOptions, lifecycle: Lifecycle, parts: readonly Part[] = []
): Promise<OpenedRecorder> {
  const opening = beginServices(app, options, lifecycle)
  const { setup } = opening
  setup.routeTable.observe(app, setup.debug)
  if (setup.recording !== 'none') {
    const { recordLifecycle } = await import('./record-lifecycle.js')
    return await recordLifecycle(app, opening, parts)
  }
  opening.publish(new ApplicationServices(setup, prepareServices(setup, opening)))
  return { addLastHooks () {} }
}

// The recorder and its recordings.
export { attributesOf, requestContext, traceOf } from './recording/trace.js'
export type { Lifecycle, Refusal, RequestTrace, Services } from './recording/trace.js'
export type { HookRun } from './recording/event-recorder.js'
export type { ListenerEvent, PassName, Slot } from './recording/events.js'
export type { Recorder } from './recording/recorder.js'
export { callAfter, internalHook, isPromise } from './recording/hooks.js'
export { addServerTiming, watchErrorHandlers } from './recording/handler-time.js'

// The options, and the environment.
export { checkOptions, OPTIONS, readSchemas, ROUTE_OPTIONS } from './check-options.js'
export type { OptionSchema, OptionSchemas } from './check-options.js'
export { isProduction, readPackageOptions, readVariables, type Variables } from './environment.js'
export { secondsOf, type Duration } from './duration.js'
export { similarName } from './similar-name.js'
export type { QuerySettings } from './options.js'
export { DEFAULT_DATA_DIR } from './store/open.js'

/** Connections to PostgreSQL, of the package `pg`, whose types an application need not have. */
export interface PostgresPool {
  query (text: string, values?: unknown[]): Promise<{ rows: any[] }>
  end (): Promise<void>
}
export const openPool: (url: string, max: number) => PostgresPool = openPgPool
export const createTables = createPgTables as unknown as (pool: PostgresPool, sql: string) => Promise<void>

// Messages: origin, access, negotiation, headers.
export { absoluteUrl, addressRanges, isSameOrigin } from './http/origin.js'
export {
  connectionOf, headerText, isProfilerPath, isRetrieval, messageState, namesHtml, pathnameOf, pathOf,
  percentDecoded, percentEncoded, preferredType, errorRepresentation, ruleFinder, setMessageState, targetOf
} from './http/requests.js'
export {
  addVary, afterBody, dropReplaced, headerValues, invalidHeaders, isPrivate, isRedirect, noncesOf, preventCaching,
  withNonce, withReportUri
} from './http/responses.js'

// Errors, and the answer to a request without a route.
export { badRequest, httpError, NotFoundError, ParamConversionError } from './http/http-errors.js'
export { explainInsecure, explainNoMatch, notFound, type NoMatch } from './routing/no-match.js'
export { routeConfigOf, routeName, routerOptionsOf } from './routing/route-table.js'
export type { RecordedConfig, RouteConfig, RouteMatch } from './routing/route-table.js'
export { byOption } from './errors/refusal.js'
export { isError, messageOf, nameOf, readProperty, statusOf } from './errors/thrown-value.js'
export { handlerFrame, applicationFrame } from './errors/declared-place.js'
export { addInternalFolder, placeOf } from './errors/stack-frame.js'
export { attemptCall, settlesWithin, withStackLimit } from './call.js'
export { corsVerdict, isPreflight, originsText } from './parts/cors/verdict.js'

// Parts of a profile.
export { definePart, type Part } from './parts/part.js'
export { cors as corsPart } from './parts/cors/index.js'
export { csp as cspPart } from './parts/csp/index.js'
export { session as sessionPart, sessionValues } from './parts/session/index.js'
export { fieldsPart, isObject, listOf, type Data } from './parts/read.js'
export { flattenPaths } from './parts/section.js'
export { noteText, pairsSection, rowsSection } from './view/components.js'

// How a failure, a redirect and a failed start are rendered.
export { plainStack, renderShortError } from './error-page/plain-pages.js'
export { html, redirectPage, type SafeHtml } from './view/text.js'

/** Loads what renders the diagnostic page and inserts the toolbar: debug mode alone needs it. */
export async function loadDebugPages () {
  const { diagnosticPage } = await import('./recording/diagnostic-page.js')
  const { insertToolbar } = await import('./reading/pages/toolbar/insert.js')
  return { diagnosticPage, insertToolbar }
}

/** The routes of the profiler as a Fastify plugin, at the root of the application: its pages, the toolbar, previews. */
export async function profilerPages (app: FastifyInstance, options: ProfilerPagesOptions): Promise<void> {
  const pages = await import('./routes/profiler-pages.js')
  await pages.profilerPages(app, options)
}

/** Prints why the service could not start: the place, its source, and the error. */
export async function printFailure (error: unknown, app?: FastifyInstance): Promise<void> {
  const failedStart = await import('./failed-start.js')
  failedStart.printFailure(error, app)
}

/** Answers all requests with the diagnostic page of a failed start until the process ends. The page reloads itself. */
export async function serveFailure (error: unknown, at: FastifyListenOptions, failed?: FastifyInstance): Promise<void> {
  const failedStart = await import('./failed-start.js')
  await failedStart.serveFailure(error, at, failed)
}
