import type { FastifyInstance, FastifyReply } from 'fastify'
import { keptBy } from './fastify-symbols.js'
import { valueOf } from './header-trail.js'
import { stateOf } from './request-state.js'

type Method = (this: FastifyReply, ...args: unknown[]) => FastifyReply

/** What changes a header without one of the others, and which header that is. */
const CHANGES = { header: nameGiven, removeHeader: nameGiven, type: () => 'content-type' } as const

/**
 * Tells the recorders of an application's requests ahead of each change of a header, so that they need not compare all of them around
 * each listener, and notes who makes one outside of the listeners. Says whether that could be done: another Fastify may keep its replies elsewhere.
 */
export function watchHeaders (app: FastifyInstance): boolean {
  const prototype = replyPrototype(app)
  const methods = Object.entries(CHANGES)
  if (prototype === undefined || methods.some(([method]) => typeof prototype[method as keyof typeof CHANGES] !== 'function')) return false
  for (const [method, nameOf] of methods) watch(prototype as unknown as Record<string, Method>, method, nameOf)
  return true
}

/** What the replies of an application have in common; undefined where another Fastify keeps it elsewhere. */
export function replyPrototype (app: FastifyInstance): FastifyReply | undefined {
  return keptBy<{ prototype?: FastifyReply }>(app, 'fastify.Reply')?.prototype
}

function watch (prototype: Record<string, Method>, method: string, nameOf: (name: unknown) => string): void {
  const change = prototype[method] as Method
  prototype[method] = function watchedChange (this: FastifyReply, ...args: unknown[]) {
    const { recorder, isHandling } = stateOf(this.request)
    if (recorder === null) return change.apply(this, args)
    const name = nameOf(args[0])
    recorder.touch(this, name)
    if (recorder.trail === null || !recorder.isOutside) return change.apply(this, args)
    const from = valueOf(this, name)
    const result = change.apply(this, args)
    recorder.trail.note({ name, from, to: valueOf(this, name), after: recorder.recorded, handling: isHandling, via: `reply.${method}` }, watchedChange)
    return result
  }
}

function nameGiven (name: unknown): string {
  return String(name).toLowerCase()
}
