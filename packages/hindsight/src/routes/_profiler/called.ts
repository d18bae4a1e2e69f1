import type { FastifyRequest } from 'fastify'
import { messageOf, read } from '../../errors/thrown-value.js'
import type { Called } from '../../parts/http-client/index.js'
import { profileAddress } from '../../parts/http-client/outgoing.js'
import type { Part } from '../../parts/part.js'
import { dataOf, listOf, timelineOf } from '../../parts/read.js'
import { readProfile, type Profile } from '../../store/profile.js'
import type { Fields } from './responses.js'

/** Milliseconds. */
const TIMEOUT = 3_000
const MAX_BYTES = 4 * 1024 * 1024
const MAX_ENTRIES = 200

const { fetch } = globalThis

/**
 * A profile with what the called server did for one call, `?called=` and its number from 1: that is read from the
 * server's own profile, in debug mode only.
 */
export async function withCalled (request: FastifyRequest, profile: Profile): Promise<Profile> {
  const { debug, settings, parts } = request.server.hindsight
  const data = dataOf(profile, 'http-client')
  const calls = listOf(data.calls)
  const index = Number((request.query as Fields).called) - 1
  const call = calls[index]
  if (!debug || call?.profile === undefined) return profile
  const address = profileAddress(call.profile, settings.calledHosts)
  const called = await calledAt(address, parts).catch((error: unknown): Called =>
    ({ problem: messageOf(read(error, 'cause') ?? error) }))
  const changed = { ...data, calls: calls.with(index, { ...call, called }) }
  return { ...profile, collectors: { ...profile.collectors, 'http-client': changed } }
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
    if (size > MAX_BYTES) throw new Error(`it has more than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
