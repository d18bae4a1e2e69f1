import { listener } from '../kernel/listener.js'
import type { StackFrame } from '../diagnostics/exception.js'
import { stateOf } from '../kernel/request-state.js'
import { splitStack, stackFrames } from '../diagnostics/stack-frame.js'

/** Records the route, its pattern, its parameters and where it was declared. */
export const routerDataCollector = listener('kernel.controller', 'router-data-collector', (app) => {
  if (!app.hindsight.debug) return 'not in debug mode'
  const { routeTable, hindsight: { mask } } = app
  return (request) => {
    const { route } = request
    const state = stateOf(request)
    // As they were sent: what converters make of them has a panel of its own.
    const params = state.sentParams ?? route?.params
    state.collect('router', () => {
      if (route === null) return { matched: null, routes: routeTable.own().map(({ name, methods, pattern }) => ({ name, methods, pattern })) }
      const declared = routeTable.of(request)
      const frame = declared?.declaredAt == null ? undefined : declarationFrame(declared.declaredAt)
      return {
        matched: { ...route, params: mask.value(params), methods: declared?.methods ?? [request.method], ...(frame !== undefined && { handler: `${frame.file}:${frame.line}` }) }
      }
    })
  }
})

function declarationFrame ({ stack = '', message }: Error): StackFrame | undefined {
  return stackFrames(splitStack(stack, message).frames).find(({ own }) => own)
}
