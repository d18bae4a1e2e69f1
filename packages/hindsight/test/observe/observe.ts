import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { create, declare } from './application.js'
import { exchange, settled, take, type Exchange } from './exchange.js'
import { Recorder } from './recorder.js'
import { requestsFor } from './requests.js'
import { VARIANTS } from './variants.js'

/** All that is seen of one variant of the application; JSON. */
export interface Observation {
  /** Route objects as `onRoute` received them. */
  routes: unknown[]
  printed: string
  printedWithHooks: string
  /** By the name of a request; `the start` and `the end` have no answer. */
  exchanges: Record<string, Pick<Exchange, 'events' | 'lines'> & Partial<Exchange>>
}

/** A variant that does not start or does not close. */
export interface Failure {
  failure: string
}

/** By the name of a variant. */
export type Observations = Record<string, Observation | Failure>

/** What is done to an application before it declares anything. */
export type Prepare = (app: FastifyInstance) => unknown

/** One exchange of one variant. */
export function exchangeOf (observations: Observations, variant: string, request: string): Partial<Exchange> {
  const observation = observations[variant]
  return observation === undefined || 'failure' in observation ? {} : observation.exchanges[request] ?? {}
}

/** Starts a variant of the application, sends it every request and closes it. */
export async function observe (name: string, prepare: Prepare = () => {}): Promise<Observation> {
  const variant = VARIANTS[name]
  if (variant === undefined) throw new Error(`There is no variant "${name}"`)
  const recorder = new Recorder()
  const app = create(variant, recorder)
  await prepare(app)
  await declare(app, variant, recorder)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  await settled(recorder, 0)
  const exchanges: Observation['exchanges'] = { 'the start': take(recorder, port) }
  for (const asked of requestsFor(variant)) exchanges[asked.name] = await exchange(app, recorder, asked)
  const printed = { printed: app.printRoutes(), printedWithHooks: app.printRoutes({ includeHooks: true }) }
  await app.close()
  exchanges['the end'] = take(recorder, port)
  return { routes: recorder.routes, ...printed, exchanges }
}
