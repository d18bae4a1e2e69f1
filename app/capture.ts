import type { FastifyInstance, FastifyRequest } from 'fastify'
import { stateOf } from '../plugins/kernel/request-state.js'

/** What `request.hindsight` offers. */
export interface RequestHindsight {
  /** Adds an error to the profile of the request that a framework has caught and answered itself; does nothing where the request is not profiled. */
  capture: (error: unknown) => void
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Hindsight's own functions for this request. */
    hindsight: RequestHindsight
  }
}

const CAPTURES_NOTHING: RequestHindsight = Object.freeze({ capture () {} })

function captureOf (this: FastifyRequest): RequestHindsight {
  return {
    capture: (error) => {
      const state = stateOf(this)
      if (!state.observed || state.raised === error || state.others.includes(error)) return
      state.others.push(error)
    }
  }
}

/** Decorates the requests of an application with `hindsight`. */
export function decorateRequests (app: FastifyInstance, isObserved: boolean): void {
  app.decorateRequest('hindsight', { getter: isObserved ? captureOf : () => CAPTURES_NOTHING })
}
