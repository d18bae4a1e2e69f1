import type { FastifyInstance, FastifyRequest } from 'fastify'
import { contextOf, recordingOf, type RequestContext } from '../lib/lifecycle/request-state.js'
import { servicesOf } from '../lib/lifecycle/services.js'
import type {} from '../lib/recording/recorder.js'

/** The type of `request.hindsight`. */
export interface RequestHindsight {
  /**
   * Adds an error, or another thrown value, to the profile of the request: for errors that a framework catches. A
   * profile has at most 25 of them, each once. It may be called after the response. Without a profile it does nothing.
   */
  capture: (error: unknown) => void
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Hindsight's own functions for this request. */
    hindsight: RequestHindsight
  }
}

const NO_CAPTURE: RequestHindsight = Object.freeze({ capture () {} })

function captureOf (this: FastifyRequest): RequestHindsight {
  return { capture: captureIn(contextOf(this)) }
}

// Work that outlives the request may keep the function.
function captureIn (context: RequestContext): RequestHindsight['capture'] {
  return (error) => {
    const { late, request } = context
    if (request === undefined) return late?.addError(error)
    const { recorder } = servicesOf(request)
    if (recorder === undefined) recordingOf(request).addError(error)
    else recorder.addError(request, error)
  }
}

/** Decorates the requests of an application with `hindsight`. */
export function decorateRequests (app: FastifyInstance, isObserved: boolean): void {
  app.decorateRequest('hindsight', { getter: isObserved ? captureOf : () => NO_CAPTURE })
}
