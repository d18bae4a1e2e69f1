import type { FastifyInstance, FastifyReply } from 'fastify'
import { stateOf } from './request-state.js'

type Method = (this: FastifyReply, ...args: unknown[]) => FastifyReply

/** What changes a header without one of the others. */
const CHANGES = ['header', 'removeHeader', 'type'] as const

/**
 * Tells the recorders of an application's requests ahead of each change of a header, so that they need not compare all of them around
 * each listener. Says whether that could be done: another Fastify may keep its replies elsewhere.
 */
export function watchHeaders (app: FastifyInstance): boolean {
  const prototype = replyPrototype(app)
  if (prototype === undefined || CHANGES.some((name) => typeof prototype[name] !== 'function')) return false
  for (const name of CHANGES) watch(prototype as unknown as Record<string, Method>, name)
  return true
}

/** What the replies of an application have in common; undefined where another Fastify keeps it elsewhere. */
export function replyPrototype (app: FastifyInstance): FastifyReply | undefined {
  const symbol = Object.getOwnPropertySymbols(app).find((symbol) => symbol.description === 'fastify.Reply')
  return symbol === undefined ? undefined : (app as unknown as Record<symbol, { prototype?: FastifyReply } | undefined>)[symbol]?.prototype
}

function watch (prototype: Record<string, Method>, name: string): void {
  const change = prototype[name] as Method
  prototype[name] = function (this: FastifyReply, ...args: unknown[]) {
    stateOf(this.request).recorder?.touch(this)
    return change.apply(this, args)
  }
}
