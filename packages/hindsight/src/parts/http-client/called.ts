import { messageOf } from '../../errors/thrown-value.js'
import { readProfile, type Profile } from '../../store/profile.js'
import { formatSize } from '../../view/components.js'
import type { Part, PublishedServices, TimelineEntry } from '../part.js'
import { listOf, timelineOf, type Data } from '../read.js'
import { profileAddress } from './outgoing.js'

/** Milliseconds. */
const TIMEOUT = 3_000
const MAX_BYTES = 4_000_000
const MAX_ENTRIES = 200

const { fetch } = globalThis

/** What the called server did, as its profile has it, or why that was not received; only where it was requested. */
export interface Called {
  problem?: string
  duration?: number
  /** In milliseconds since the request arrived there. */
  entries?: TimelineEntry[]
}

/**
 * The calls with what the called server did for one of them, whose number from 1 is given: that is read from the
 * server's own profile, in debug mode only. Undefined: nothing is known of it.
 */
export async function withCalled (
  data: Data, number: number, { debug, settings, parts }: PublishedServices
): Promise<Data | undefined> {
  const calls = listOf(data.calls)
  const call = calls[number - 1]
  if (!debug || call?.profile === undefined) return undefined
  const address = profileAddress(call.profile, settings.calledHosts)
  const called = await calledAt(address, parts).catch((error: unknown): Called =>
    ({ problem: messageOf((error as Error).cause ?? error) }))
  return { ...data, calls: calls.with(number - 1, { ...call, called }) }
}

async function calledAt (address: string | null, parts: readonly Part[]): Promise<Called> {
  if (address === null) throw new Error('its host is neither this machine nor one of profiler.calledHosts')
  const profile = readProfile(JSON.parse(await textAt(`${address}.json`)) as Profile)
  const entries = timelineOf(parts, profile).map(({ name, start, duration, failed, detail, legend, color }) =>
    ({ name: String(name), start, duration, failed, detail, legend, color }))
  return { duration: profile.duration, entries: entries.slice(0, MAX_ENTRIES) }
}

async function textAt (url: string): Promise<string> {
  const response = await fetch(url, {
    redirect: 'error',
    credentials: 'omit',
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(TIMEOUT)
  })
  if (!response.ok) throw new Error(`the called server answered ${response.status}`)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new Error(`it has more than ${formatSize(MAX_BYTES)}`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
