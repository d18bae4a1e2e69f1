import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FactsOfParts } from '../errors/report.js'
import { performance } from '../clock.js'
import { exceptionsOf, flattenError, maskExceptions, maskOf } from '../errors/masked-exceptions.js'
import { messageOf, nameOf } from '../errors/thrown-value.js'
import { recordingOf, servicesOf, stateOf } from '../lifecycle/state.js'
import { collectData, collectedBy, plainCopy } from './collect.js'
import type { Collector, Part, UnfinishedProfile } from './part.js'
import { hintsOf, sentencesOf, type Data } from './read.js'
import { routeIn } from './router/index.js'

/** What is recorded of a request whose response is not sent yet, masked; `shown` are the parts whose data it has. */
export function unfinishedProfile (
  request: FastifyRequest, reply: FastifyReply, shown: readonly Part[]
): UnfinishedProfile {
  const { recording } = stateOf(request)
  const { failure, log, ownSince, routeError, otherErrors, timing, token = '' } = recording
  const mask = maskOf(request)
  const hasFailed = failure !== null || routeError !== null
  // Of a request that has not failed, the first error that was captured is the one that its profile is about.
  const others = (hasFailed ? otherErrors.filter((error) => error !== failure?.error) : otherErrors.slice(1))
    .map((error) => ({ name: mask.text(nameOf(error)), message: mask.text(messageOf(error)) }))
  const ofApplication = shown.filter((part) => part.collect !== undefined) as Collector[]
  const ownData = Object.fromEntries(shown.map(({ name }) => [name, collectedBy(recording, name)]))
  return {
    token,
    time: new Date(timing.startedTime).toISOString(),
    status: reply.statusCode,
    method: request.method,
    route: routeIn(stateOf(request)),
    duration: (ownSince ?? performance.now()) - timing.startedAt - timing.own,
    exceptions: hasFailed
      ? exceptionsOf(request)
      : otherErrors.slice(0, 1).flatMap((error) => maskExceptions(flattenError(error), mask)),
    logs: log?.records() ?? [],
    collectors: {
      // The masks of parts do not hide the path parameters of this request.
      ...mask === servicesOf(request).mask ? ownData : plainCopy(ownData, mask.redact) as object,
      otherErrors: others.map((error) => [error]),
      ...ofApplication.length > 0 && mask.value(collectData(ofApplication, request, reply)) as object
    }
  }
}

/** Milliseconds from which a request is slow: its diagnostic page has the sentences of the parts. */
const MIN_SLOW = 100

/** What the parts add to the diagnostic page of a request that is about to be sent. */
export function factsOfParts (request: FastifyRequest, reply: FastifyReply): FactsOfParts {
  // Failures that no profile is kept of have no data.
  if (!recordingOf(request).isRecording) return { hints: [], sentences: [] }
  const { parts } = servicesOf(request)
  const shown = parts.filter(({ hints, sentence }) => hints !== undefined || sentence !== undefined)
  const profile = unfinishedProfile(request, reply, shown)
  const { body, sentBody = body, query } = Object(collectedBy(recordingOf(request), 'request')) as Data
  const { name, params } = profile.route ?? {}
  return {
    hints: hintsOf(parts, profile),
    sentences: profile.duration < MIN_SLOW ? [] : sentencesOf(shown, profile),
    // The mask of the application does not hide the path parameters of this request.
    request: { route: name, ...maskOf(request).value({ params, query, body: sentBody ?? undefined }) as object }
  }
}
