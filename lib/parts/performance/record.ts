import type { RequestState } from '../../lifecycle/request-state.js'

/**
 * The data of the part `performance`, in milliseconds: the duration of the handler, when it began, and when the
 * response was ready to be sent, both since the request arrived.
 */
export function performanceRecord (
  { startedAt, handlerStart, handlerEnd, responseReadyAt }: RequestState
): { handlerStart?: number, handler?: number, firstByte?: number } {
  const between = (from: number, to: number): number => Math.round((to - from) * 1000) / 1000
  return {
    ...(handlerEnd !== 0 && {
      handlerStart: between(startedAt, handlerStart),
      handler: between(handlerStart, handlerEnd)
    }),
    ...(responseReadyAt !== 0 && { firstByte: between(startedAt, responseReadyAt) })
  }
}
