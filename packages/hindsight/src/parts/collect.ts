import type { AsyncLocalStorage } from 'node:async_hooks'
import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel'
import { types } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { attemptCall, synchronousResult } from '../call.js'
import { performance } from '../clock.js'
import { errorsOf } from '../errors/masked-exceptions.js'
import { classOf, messageOf } from '../errors/thrown-value.js'
import { isResponse } from '../http/responses.js'
import { findProperty, isPlainObject, JsonReader, readEntries } from '../mask/read-object.js'
import type { RequestTrace, WorkTrace } from '../recording/trace.js'
import type { Recording } from '../recording/recording.js'
import type { ProfiledRoute, UnfinishedProfile } from '../store/profile.js'
import { cutText } from '../view/text.js'
import type { Collector, Part } from './part.js'

const MAX_BYTES = 64 * 1024
const MAX_DEPTH = 16
/** Of a copy of all data. */
const MAX_COPY_DEPTH = 24
/** Bytes of an entry of a copy, at least. */
const MIN_ENTRY = 4
/** Characters of the name of a field. */
const MAX_NAME = 500
/** Characters of one text that count for the limit: the profile truncates longer ones. */
const MAX_TEXT = 9_000

/** Runs the collectors of the application: data by their names, `{ error }` of one that fails. */
export function collectData (
  collectors: readonly Collector[], request: FastifyRequest, reply: FastifyReply
): Record<string, unknown> {
  return Object.fromEntries(collectors.map(({ name, collect }) =>
    // A copy: the application may change its data later.
    [name, attemptCall(() => snapshotOf(synchronousResult(collect(request, reply) as unknown) ?? null), failure)]))
}

/** The function of the application that makes the response. */
export function handlerName ({ request, failed }: RequestTrace): string {
  if (failed) return 'error handler'
  return request.is404 ? 'not-found handler' : 'handler'
}

/** The data of a part of Hindsight; `{ error }` if it fails. */
export function collectedBy (recording: Recording, name: string): unknown {
  return attemptCall(() => recording.dataOf(name), failure)
}

/** The data of parts of Hindsight, by their names. */
export function allCollected (recording: Recording, names = recording.partNames): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, collectedBy(recording, name)])
    .filter(([, data]) => data !== undefined))
}

function failure (error: unknown): { error: string } {
  return { error: messageOf(error) }
}

/**
 * Makes the `start` of a part that subscribes to channels; the last application that ends it unsubscribes. What a
 * subscriber throws would become an uncaught exception of the process. The channels are kept: Node.js 20 loses the
 * subscribers of a channel that was collected as garbage and made anew.
 *
 * What is called in a channel of `stores` has the value for the message in the store.
 */
export function watchChannels (
  subscribers: ReadonlyArray<readonly [channel: string, subscriber: (message: never) => void]>,
  stores: ReadonlyArray<readonly [channel: string, store: AsyncLocalStorage<any>, valueOf: (message: any) => unknown]> =
  []
): () => () => void {
  const guarded = <T>(read: (message: never) => T) => (message: unknown) => attemptCall(() => read(message as never))
  const quiet = subscribers.map(([name, subscriber]) => [channel(name), guarded(subscriber)] as const)
  const bound = stores.map(([name, store, valueOf]) => [channel(name), store, guarded(valueOf)] as const)
  let watchers = 0
  return () => {
    if (watchers++ === 0) {
      for (const [{ name }, subscriber] of quiet) subscribe(name, subscriber)
      for (const [channel, store, valueOf] of bound) channel.bindStore(store, valueOf)
    }
    return () => {
      if (--watchers > 0) return
      for (const [{ name }, subscriber] of quiet) unsubscribe(name, subscriber)
      for (const [channel, store] of bound) channel.unbindStore(store)
    }
  }
}

/**
 * A copy of any value as lists and plain objects, up to about 64 kB: later changes do not affect it. No getter and no
 * trap of a proxy runs. `type` is the media type, for the description of binary content; `replace` returns the
 * replacement of an object.
 */
export function snapshotOf (root: unknown, type = '', replace = (value: object): unknown => value): unknown {
  return binaryText(root, type) ?? new Snapshot(replace).copy(root, [])
}

class Snapshot {
  readonly #replace: (value: object) => unknown
  readonly #reader = new JsonReader()
  /** Bytes. */
  #left = MAX_BYTES

  constructor (replace: (value: object) => unknown) {
    this.#replace = replace
  }

  copy (given: unknown, ancestors: readonly unknown[]): unknown {
    const value = typeof given === 'object' && given !== null ? this.#replace(given) : given
    this.#left -= typeof value === 'string' ? Math.min(value.length, MAX_TEXT) + 2 : 4
    if (typeof value !== 'object' || value === null) return value
    const binary = types.isProxy(value) || isPlainObject(value) ? null : binaryText(value)
    if (binary !== null) return binary
    if (ancestors.includes(value)) return '[circular]'
    if (ancestors.length >= MAX_DEPTH) return '[too deep]'
    const within = [...ancestors, value]
    const json = this.#reader.replacementOf(value)
    return json === null ? this.#entriesOf(value, within) : this.copy(json.value, within)
  }

  #entriesOf (value: object, within: readonly unknown[]): unknown {
    const { isList, size, entries } = readEntries(value, Math.max(0, this.#left) / MIN_ENTRY)
    const kept: typeof entries = []
    for (const [name, item] of entries) {
      if (this.#left <= 0) break
      if (!isList) this.#left -= name.length + 4
      kept.push([name, this.copy(item, within)])
    }
    if (kept.length < size) {
      const omitted = (size - kept.length).toLocaleString('en')
      kept.push(['…', isList ? `… (${omitted} more items)` : `${omitted} more fields`])
    }
    return isList ? kept.map(([, item]) => item) : Object.fromEntries(kept)
  }
}

/** A description of content that is not text; null for text and plain values. */
export function binaryText (value: unknown, type = ''): string | null {
  const pipe = findProperty(value, 'pipe')
  // A getter, or a proxy.
  if (pipe === undefined) return null
  const media = type === '' ? '' : `, ${type.split(';', 1)[0]?.trim()}`
  if (ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value)) return `[binary, ${value.byteLength} bytes${media}]`
  if (value instanceof Blob) return `[binary, ${value.size} bytes${media}]`
  const methods = [pipe.value, findProperty(value, 'getReader')?.value]
  const isStream = methods.some((one) => typeof one === 'function') || isResponse(value)
  if (isStream) return `[stream ${classOf(value) || 'Object'}]`
  // Parsers may have decoded binary content.
  const isBinary = typeof value === 'string' && value.slice(0, 1_000).includes('\0')
  return isBinary ? `[binary, ${Buffer.byteLength(value)} bytes${media}]` : null
}

/** A copy of any value as plain JSON data; `shown` replaces each text. */
export function plainCopy (
  given: unknown, shown: (text: string) => string, ancestors: readonly object[] = []
): unknown {
  const value = typeof given === 'bigint' || typeof given === 'symbol' ? String(given) : given
  if (typeof value === 'string') return shown(value)
  if (typeof value === 'boolean' || Number.isFinite(value)) return value
  if (typeof value !== 'object' || value === null) return null
  if (ancestors.includes(value)) return '[circular]'
  if (ancestors.length >= MAX_COPY_DEPTH) return '[too deep]'
  const within = [...ancestors, value]
  if ('toJSON' in value && typeof value.toJSON === 'function') return plainCopy(value.toJSON(), shown, within)
  if (Array.isArray(value)) return value.map((item) => plainCopy(item, shown, within))
  const members = Object.entries(value).filter(([, item]) => item !== undefined)
  return Object.fromEntries(members.map(([name, item]) => [cutText(name, MAX_NAME), plainCopy(item, shown, within)]))
}

/** What parts of Hindsight have recorded, by their names, by default all: masked plain data. */
export function recordedData (trace: WorkTrace, names?: string[]): Record<string, unknown> {
  return redacted(trace, allCollected(trace.recording, names))
}

/** The route of a request, masked; null where none matched. */
export function matchedRoute (trace: RequestTrace): ProfiledRoute | null {
  return redacted(trace, trace.recording.matchedRoute?.() ?? null)
}

/** Data of parts, whose masks do not hide the path parameters of this request. */
function redacted<T> ({ mask, services }: WorkTrace, data: T): T {
  return mask === services.mask ? data : plainCopy(data, mask.redact) as T
}

/** What is recorded of a request whose response is not sent yet, masked; `shown` are the parts whose data it has. */
export function unfinishedProfile (trace: RequestTrace, shown: readonly Part[]): UnfinishedProfile {
  const { request, reply, recording, mask, route } = trace
  const { log, internalSince, timing, token = '' } = recording
  const { exceptions, otherErrors } = errorsOf(trace, recording.otherErrors)
  const ofApplication = shown.filter((part) => part.collect !== undefined) as Collector[]
  return {
    token,
    time: new Date(timing.startedTime).toISOString(),
    status: reply.statusCode,
    method: request.method,
    route: recording.matchedRoute?.() ?? (route === null ? null : { ...route, methods: [] }),
    duration: (internalSince ?? performance.now()) - timing.startedAt - timing.own,
    exceptions,
    logs: log?.records() ?? [],
    collectors: {
      ...recordedData(trace, shown.map(({ name }) => name)),
      otherErrors,
      ...ofApplication.length > 0 && mask.value(collectData(ofApplication, request, reply)) as object
    }
  }
}
