import { blocked } from './blocked/index.js'
import { config } from './config/index.js'
import { consoleLines } from './console/index.js'
import { cors } from './cors/index.js'
import { cpu } from './cpu/index.js'
import { csp } from './csp/index.js'
import { events, headers } from './events/index.js'
import { caughtErrors } from './exceptions/caught.js'
import { exceptions, otherErrors } from './exceptions/index.js'
import { httpClient } from './http-client/index.js'
import { job } from './job/index.js'
import { logs } from './logs/index.js'
import { overview } from './overview/index.js'
import type { Collector, Part } from './part.js'
import { performance } from './performance/index.js'
import { queries } from './queries/index.js'
import { request, response } from './request/index.js'
import { router } from './router/index.js'
import { session } from './session/index.js'
import { spans } from './spans/index.js'
import { timeline } from './timeline/index.js'
import { trace } from './trace/index.js'
import { waiting } from './waiting/index.js'
import { wire } from './wire/index.js'

/** The parts of Hindsight in the order of the menu, group by group, and at the end those without a panel. */
export const parts: readonly Part[] = [
  overview,
  waiting,
  request,
  job,
  wire,
  session,
  router,
  exceptions,
  otherErrors,
  caughtErrors,
  logs,
  timeline,
  performance,
  spans,
  queries,
  httpClient,
  trace,
  cpu,
  events,
  cors,
  csp,
  config,
  response,
  headers,
  blocked,
  consoleLines
]

/** The parts of Hindsight, of a lifecycle and of an application. Throws for a collector whose name is used. */
export function partsWith (collectors: readonly Collector[], ofLifecycle: readonly Part[] = []): Part[] {
  const known = [...parts, ...ofLifecycle]
  const all: Part[] = [...known]
  for (const [i, collector] of collectors.entries()) {
    const { name } = collector
    const option = `profiler.collectors[${i}]`
    if (known.some((part) => part.name === name)) {
      throw new Error(`${option}.name: "${name}" is the name of a collector of Hindsight`)
    }
    if (all.some((part) => part.name === name)) throw new Error(`${option}.name: "${name}" is used twice`)
    all.push(collector)
  }
  return all
}
