// The global one is a getter, which each call would ask.
import { performance } from 'node:perf_hooks'
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { copied, type HeaderTrail } from './header-trail.js'
import type { RequestState } from './request-state.js'
import { isSameValue, type HeaderValue } from './slot-memory.js'

type Method = (this: ServerResponse, ...args: unknown[]) => unknown

/** The methods that a response had before it was watched. */
interface Methods {
  writeHead: Method
  setHeader: Method
  appendHeader: Method
  removeHeader: Method
}

interface Watch {
  reply: FastifyReply
  state: RequestState
  methods: Methods
  /** Whether Node.js is at work on a change that is noted: it may set what it was given by its own functions, one by one. */
  busy: boolean
}

const kWatch = Symbol('hindsight.rawHeaders')
type Watched = ServerResponse & { [kWatch]?: Watch }

// The same functions for each response: one of its own would cost a closure.
const setHeader = watched('setHeader')
const appendHeader = watched('appendHeader')
const removeHeader = watched('removeHeader')

/**
 * Notes when the head of an observed response goes out: whatever sends one, a stream too, comes through there with its first byte. Where it is told
 * who changed headers, what changes them on Node.js's own response, past Fastify, is noted too.
 */
export function watchHead (reply: FastifyReply, state: RequestState): void {
  const raw = reply.raw as unknown as Methods & { [kWatch]?: Watch }
  // Of what is injected, or of HTTP/2, some may be missing.
  const methods: Methods = { writeHead: raw.writeHead, setHeader: raw.setHeader, appendHeader: raw.appendHeader, removeHeader: raw.removeHeader }
  if (typeof methods.writeHead === 'function') raw.writeHead = notedHead
  if (trailOf(state) !== null) {
    state.recorder?.tellRaw(reply.raw.getHeaderNames().length > 0)
    if (typeof methods.setHeader === 'function') raw.setHeader = setHeader
    if (typeof methods.appendHeader === 'function') raw.appendHeader = appendHeader
    if (typeof methods.removeHeader === 'function') raw.removeHeader = removeHeader
  }
  raw[kWatch] = { reply, state, methods, busy: false }
}

function trailOf ({ recorder }: RequestState): HeaderTrail | null {
  return recorder === null ? null : recorder.trail
}

// Headers that Fastify gives with the head are those of its reply.
function notedHead (this: Watched, ...args: unknown[]): unknown {
  const watch = this[kWatch] as Watch
  const { state, methods } = watch
  if (state.headAt === 0) state.headAt = performance.now()
  const write = methods.writeHead
  if (trailOf(state) === null) return write.apply(this, args)
  noteGiven(watch, typeof args[1] === 'string' ? args[2] : args[1])
  watch.busy = true
  try {
    return write.apply(this, args)
  } finally {
    watch.busy = false
  }
}

function noteGiven ({ reply, state }: Watch, given: unknown): void {
  const { recorder } = state
  if (recorder === null || recorder.trail === null || typeof given !== 'object' || given === null) return
  const headers = Array.isArray(given) ? grouped(pairsOf(given)) : given as OutgoingHttpHeaders
  for (const name in headers) {
    const to = headers[name]
    const from = reply.getHeader(name)
    if (to !== undefined && !isSameValue(from, to)) recorder.trail.note({ name: name.toLowerCase(), from: copied(from), to: copied(to), after: recorder.recorded, handling: state.isHandling, via: 'reply.raw.writeHead' }, notedHead)
  }
}

function watched (method: 'setHeader' | 'appendHeader' | 'removeHeader'): Method {
  return function watchedChange (this: Watched, ...args) {
    const watch = this[kWatch] as Watch
    const { reply, state, methods, busy } = watch
    const change = methods[method]
    const { recorder } = state
    if (method !== 'removeHeader') recorder?.tellRaw(true)
    if (recorder === null || recorder.trail === null || busy || !recorder.isOutside) return change.apply(this, args)
    const name = String(args[0]).toLowerCase()
    // Ahead of a stream Fastify hands the headers of its reply over one by one.
    if (method === 'setHeader' && isSameValue(reply.getHeader(name), args[1] as HeaderValue)) return change.apply(this, args)
    const from = copied(this.getHeader(name))
    watch.busy = true
    let result: unknown
    try {
      result = change.apply(this, args)
    } finally {
      watch.busy = false
    }
    recorder.trail.note({ name, from, to: copied(this.getHeader(name)), after: recorder.recorded, handling: state.isHandling, via: `reply.raw.${method}` }, watchedChange)
    return result
  }
}

// A name that comes twice is sent twice.
function grouped (pairs: ReadonlyArray<readonly [name: string, value: HeaderValue]>): OutgoingHttpHeaders {
  const headers = new Map<string, HeaderValue>()
  for (const [name, value] of pairs) {
    const key = name.toLowerCase()
    const before = headers.get(key)
    headers.set(key, before === undefined || value === undefined ? value : [before, value].flat().map(String))
  }
  return Object.fromEntries(headers)
}

// A list of names and values, flat or in pairs.
function pairsOf (list: readonly unknown[]): Array<[string, HeaderValue]> {
  if (list.every((one) => Array.isArray(one))) return (list as Array<[unknown, HeaderValue]>).map(([name, value]) => [String(name), value])
  return list.flatMap((name, i): Array<[string, HeaderValue]> => i % 2 === 0 ? [[String(name), list[i + 1] as HeaderValue]] : [])
}
