import type { FastifyInstance, FastifyRequest } from 'fastify'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { servicesOf } from '../lib/lifecycle/services.js'
import type {} from '../lib/profiler/request-profiles.js'

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

const MAX_CAPTURED = 25
const NO_CAPTURE: RequestHindsight = Object.freeze({ capture () {} })

function captureOf (this: FastifyRequest): RequestHindsight {
  return {
    capture: (error) => {
      const { failed, raised, otherErrors, reply } = stateOf(this)
      if ((failed && raised === error) || otherErrors.includes(error) || otherErrors.length >= MAX_CAPTURED) return
      otherErrors.push(error)
      // The profile was kept when the response ended.
      const isOver = reply?.raw.writableFinished === true || reply?.raw.destroyed === true
      if (reply !== null && isOver) servicesOf(this).profiles?.queueAgain(this, reply)
    }
  }
}

/** Decorates the requests of an application with `hindsight`. */
export function decorateRequests (app: FastifyInstance, isObserved: boolean): void {
  app.decorateRequest('hindsight', { getter: isObserved ? captureOf : () => NO_CAPTURE })
}
