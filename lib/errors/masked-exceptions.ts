import type { FastifyRequest } from 'fastify'
import { targetOf } from '../http/request-target.js'
import { recordingOf, stateOf } from '../lifecycle/request-state.js'
import { servicesOf } from '../lifecycle/services.js'
import type { Mask } from '../mask/mask.js'
import type { FlattenedException, StackFrame } from './exception.js'
import { flattenError } from './flatten-error.js'

declare module '../recording/recording.js' {
  interface Recording {
    /** The chain of the error, flattened and masked; root cause first. */
    exceptions?: FlattenedException[] | undefined
    /** The mask of the request, made at its beginning: later code may replace the path parameters. */
    mask?: Mask
  }
}

/** Paths in which a `:code` with digits is a secret, as in `/verify/482913`; in `/countries/:code` it is none. */
const CODE_PATH = /\/(?:verif|confirm|activat|invit|reset|magic|otp|[2m]fa|redeem|unlock|log-?in|sign-?in)/i

function namedParams (url: string, params: unknown): unknown {
  const { code } = (params ?? {}) as { code?: unknown }
  const isSecret = /^(?=.*\d).{4,}/.test(String(code)) && CODE_PATH.test(url)
  return isSecret ? { ...params as object, verificationCode: code } : params
}

/**
 * The mask for data of a request: it also masks path parameters with secret names, in every text. They are those of the
 * request, of its `Referer`, and of `location`, as the routes of the application name them.
 */
export function maskOf (request: FastifyRequest, location?: unknown): Mask {
  const recording = recordingOf(request)
  const { mask, routeTable } = servicesOf(request)
  // The token in the path of a profiler page is no secret to its reader.
  if (request.routeOptions.config?.debugOnly === true) return mask
  const urls = [request.headers.referer, request.is404 ? targetOf(request) : undefined]
  const withPaths = (first: Mask, paths: readonly unknown[]): Mask => paths.reduce<Mask>((result, url) =>
    typeof url === 'string' ? result.withParams(namedParams(url, routeTable.paramsOf(url, request))) : result, first)
  // Of a 404, the path may have a route of another method.
  recording.mask ??= withPaths(mask.withParams(namedParams(request.url, request.params)), urls)
  return (recording.mask = withPaths(recording.mask, [location]))
}

/** The error that a response is about as a chain, root cause first, masked: the same on the page and in the profile. */
export function exceptionsOf (request: FastifyRequest): FlattenedException[] {
  const { recording, route } = stateOf(request)
  if (recording.exceptions !== undefined) return recording.exceptions
  const { failure, routeError } = recording
  const exceptions = maskExceptions(flattenError(failure === null ? routeError : failure.error), maskOf(request))
  // The router raised the error: frames of the application are those of its hooks.
  if (request.is404 && route === null) {
    for (const frame of exceptions.flatMap(({ frames }) => frames)) delete frame.excerpt
  }
  recording.exceptions = exceptions
  return exceptions
}

/** A chain with the secrets of its texts masked; in excerpts only literals are. */
export function maskExceptions (chain: readonly FlattenedException[], mask: Mask): FlattenedException[] {
  return chain.map((exception) => {
    const { name, message, stack, code, note, frames, errors } = exception
    return {
      ...exception,
      name: mask.text(name),
      message: mask.text(message),
      ...(code !== undefined && { code: mask.text(code) }),
      frames: frames.map((frame) => maskFrame(frame, mask)),
      stack: mask.text(stack),
      ...(note !== undefined && { note: mask.text(note) }),
      ...(errors !== undefined && { errors: errors.map((member) => maskExceptions(member, mask)) })
    }
  })
}

/** A frame, masked in the same way. */
export function maskFrame (frame: StackFrame, mask: Mask): StackFrame {
  const { excerpt } = frame
  const masked = { ...frame, function: mask.text(frame.function) }
  return excerpt === undefined ? masked : { ...masked, excerpt: { ...excerpt, lines: mask.source(excerpt.lines) } }
}
