import type { Profile } from '../lib/profiler/profile.js'
import type { OtlpTarget } from '../lib/profiler/otlp/settings.js'
import { counted } from '../lib/view/counted.js'
import { CommandError, type Flags } from './command.js'
import type { Terminal } from './terminal.js'

/** A profile on its way out of a store. */
export interface Exported {
  profile: Profile
  pinned: boolean
}

type Resource = Promise<Record<string, string>>

const BATCH = 32

/** Whether traces are wanted, and where they are sent; null where they are written. Throws at flags that do not go together. */
export async function traceTarget (flags: Flags, path: string | undefined): Promise<{ isOtlp: boolean, target: OtlpTarget | null }> {
  const { format = 'profiles', endpoint, headers, service } = flags
  if (format !== 'profiles' && format !== 'otlp') throw new CommandError(`--format: "${String(format)}" is neither profiles nor otlp.`, 2)
  if (format === 'profiles') {
    for (const [name, value] of Object.entries({ endpoint, headers, service })) if (value !== undefined) throw new CommandError(`--${name} goes with --format otlp only.`, 2)
    return { isOtlp: false, target: null }
  }
  if (endpoint === undefined) {
    if (headers !== undefined) throw new CommandError('--headers are for an --endpoint, and none is given.', 2)
    return { isOtlp: true, target: null }
  }
  if (path !== undefined) throw new CommandError('Traces go to the --endpoint or to a file, not to both.', 2)
  const { otlpTarget, readPairs } = await import('../lib/profiler/otlp/settings.js')
  try {
    const given = headers === undefined ? {} : readPairs(String(headers), '--headers')
    const target = otlpTarget({ endpoint: String(endpoint), headers: given, ...(service !== undefined && { serviceName: String(service) }) }, process.env, '--endpoint')
    return { isOtlp: true, target }
  } catch (error) {
    throw new CommandError((error as Error).message.replace('--endpoint.endpoint', '--endpoint').replace('--endpoint.headers', '--headers'), 2)
  }
}

/** What traces say of the service. */
export async function resourceOf ({ service }: Flags): Resource {
  const { resourceOf: resource } = await import('../lib/profiler/otlp/settings.js')
  return resource(service === undefined ? undefined : String(service))
}

/** Writes traces as lines of JSON, each what a collector would be sent (and what its file receiver reads). */
export async function writeTraces (profiles: AsyncIterable<Exported>, resource: Resource, out: Terminal): Promise<number> {
  const { traceRequest } = await import('../lib/profiler/otlp/trace-request.js')
  const told = await resource
  return await inBatches(profiles, async (batch) => await out.json(traceRequest(batch, told, { instrumented: true })))
}

/** Sends traces to a collector, and says how many profiles there were. */
export async function sendAll (profiles: AsyncIterable<Exported>, target: OtlpTarget, json: boolean, terminal: Terminal): Promise<void> {
  const { traceRequest } = await import('../lib/profiler/otlp/trace-request.js')
  const { placeOf, sendTraces } = await import('../lib/profiler/otlp/send.js')
  let rejected = 0
  let sent = 0
  await inBatches(profiles, async (batch) => {
    try {
      const outcome = await sendTraces(traceRequest(batch, target.resource, { instrumented: true }), target)
      rejected += outcome.rejected
      sent += batch.length
    } catch (error) {
      throw new CommandError(`${(error as Error).message}; ${sent} profiles were sent before it.`)
    }
  })
  if (json) return await terminal.json({ exported: sent, rejectedSpans: rejected })
  await terminal.line(`${counted(sent, 'profile was', 'profiles were')} sent to ${terminal.style('reset', placeOf(target.endpoint))}${rejected === 0 ? '' : `; ${counted(rejected, 'span was', 'spans were')} refused`}.`)
}

async function inBatches (profiles: AsyncIterable<Exported>, take: (batch: Profile[]) => Promise<void>): Promise<number> {
  let batch: Profile[] = []
  let count = 0
  for await (const { profile } of profiles) {
    count++
    if (batch.push(profile) < BATCH) continue
    await take(batch)
    batch = []
  }
  if (batch.length > 0) await take(batch)
  return count
}
