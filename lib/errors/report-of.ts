import type { FastifyRequest } from 'fastify'
import type { ListenerEvent } from '../lifecycle/events.js'
import { methodOf } from '../http/method-override.js'
import { absoluteUrl } from '../http/origin.js'
import { targetOf } from '../http/request-target.js'
import type { RequestState } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import { stepsOf, type Steps } from '../lifecycle/steps.js'
import { flattenError } from './flatten-error.js'
import { hintsFor } from './hints.js'
import { maskException } from './mask-exception.js'
import { recordsOf } from './records.js'
import type { ErrorReport } from './report.js'

declare module '../lifecycle/request-state.js' {
  interface RequestState {
    /** Where the profile of a failed request will be found, where one is kept. */
    profile?: { token: string, url: string }
  }
}

/** Everything that the diagnostic page says about a failed request, masked. */
export function reportOf (request: FastifyRequest, state: RequestState, status: number, reason: string): ErrorReport {
  const { originOf } = servicesOf(request)
  // A profile's token is no secret to whom its page is shown.
  const own = request.routeOptions.config?.debugOnly === true
  const mask = own ? servicesOf(request).mask : servicesOf(request).mask.hiding(state.sentParams ?? request.params)
  const origin = originOf(request)
  const events = state.recorder?.events() ?? []
  return {
    status,
    reason,
    exceptions: (state.exceptions ?? flattenError(state.raised)).map((exception) => maskException(exception, mask)),
    ...recordsOf(state.log, events, state.startedTime, mask),
    request: {
      method: methodOf(request),
      url: mask.url(absoluteUrl(origin, targetOf(request))),
      ip: origin.ip,
      headers: Object.entries(mask.headers(request.headers)).flatMap(([name, value]): Array<[string, string]> =>
        Array.isArray(value) ? value.map((one): [string, string] => [name, one]) : [[name, value]])
    },
    hints: hintsFor(request, status),
    ...(state.raisedBy !== null && { raisedBy: state.raisedBy }),
    ...(state.controller !== null && { controller: state.controller }),
    ...(servicesOf(request).mode === 'full' && { steps: stepsOf(servicesOf(request).lifecycle.slots, events, handlerOf(state, events), state.failed) }),
    ...(state.startedTime !== 0 && { started: new Date(state.startedTime).toISOString() }),
    ...(state.profile !== undefined && { profile: state.profile })
  }
}

// What a listener raised, or what came up when the result was on its way, the handler has not.
function handlerOf (state: RequestState, events: readonly ListenerEvent[]): Steps['handler'] {
  if (state.handlerStart === 0) return 'unreached'
  const answered = state.serializeStart !== 0 || state.raisedBy !== null ||
    events.some(({ pass, stage, outcome }) => pass === 'main' && stage === 'kernel.response' && outcome !== 'skipped')
  return answered ? 'ran' : 'raised'
}
