import { writeFile } from 'node:fs/promises'
import {
  compareProfiles, rankedDifferences, type Comparison, type RankedDifference
} from '../../reading/compare/compare.js'
import { lastSuccess } from '../../reading/compare/last-success.js'
import { writeAs } from '../../reading/formats/formats.js'
import { SAME_FUNCTIONS, textOfFunction, type Coverage } from '../../reading/pages/coverage.js'
import type { ReplayView } from '../../reading/pages/replay.js'
import { formatCount, textOrJson } from '../../view/text.js'
import type { Command, CommandContext, CommandOptions } from '../command.js'
import { requestLines } from '../request-lines.js'
import { CRITERIA, storedProfile } from '../search.js'
import { shortenMiddle, type Formatter } from '../terminal.js'

const MAX_VALUE = 1_000
const MAX_SHOWN = 50
const DEFAULT_URL = 'http://127.0.0.1:3000'
/** The URL of a request on this machine, as its client has named it. */
const LOCAL = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])[:/]/
/** What Hindsight stores: a store may contain anything, and this machine must not send requests to another one. */
const SERVER = /^https?:\/\/localhost:\d{1,5}$/
const MAX_RECENT = 50
const TIMEOUT = 60_000

export const URL_OPTION: CommandOptions = {
  url: { type: 'string', help: 'the service; default: that of the profile, or of the newest one' }
}

export const compare: Command = {
  args: '<token | latest> [token]',
  options: {
    ...CRITERIA,
    ...URL_OPTION,
    coverage: { type: 'boolean', help: 'replay both, and show functions that only one ran' },
    yes: { type: 'boolean', help: 'with --coverage, replay a POST, PUT, PATCH or DELETE' }
  },
  run: async ({ args: [first = '', second], flags, terminal, print, open }) => {
    if (flags.coverage === true) {
      const coverage = await coverageOnService(await serviceOf({ flags, open }, first), first, flags.yes === true)
      await print(coverage, () => coverageLines(coverage, terminal))
      return coverage.onlyFailure.length + coverage.onlySuccess.length > 0
    }
    const profile = await storedProfile({ flags, open }, first)
    const token = second ?? (await lastSuccess(await open(), profile))?.summary.token
    const what = profile.kind ?? 'route'
    if (token === undefined) throw new Error(`No success of the same ${what} is stored before "${first}".`)
    const other = await storedProfile({ flags, open }, token)
    const comparison = second === undefined ? compareProfiles(other, profile) : compareProfiles(profile, other)
    await print(comparison, () => comparisonLines(comparison, terminal))
    return comparison.differences > 0
  }
}

/** Compares the functions that a failure and the last success of its route run on a service. */
async function coverageOnService (url: string, wanted: string, isConfirmed: boolean): Promise<Coverage> {
  const { token, formToken } = await fetchJson<ReplayView>(url, `${encodeURIComponent(wanted)}/replay`)
  const body = new URLSearchParams([['form_token', formToken]])
  if (isConfirmed) body.set('confirm', '1')
  return await fetchJson<Coverage>(url, `${token}/coverage`, body)
}

function coverageLines ({ onlyFailure, onlySuccess }: Coverage, { style }: Formatter): string[] {
  if (onlyFailure.length + onlySuccess.length === 0) return [SAME_FUNCTIONS]
  return [
    ...onlyFailure.map((one) => style('red', `only the failure ran ${textOfFunction(one)}`)),
    ...onlySuccess.map((one) => style('green', `only the success ran ${textOfFunction(one)}`))
  ]
}

/** The lines of a comparison, with at most so many differences; of cookies and headers of the clients the names. */
export function comparisonLines (comparison: Comparison, format: Formatter, limit = MAX_SHOWN): string[] {
  const { style } = format
  const { a, b } = comparison
  const { shown, ofClient } = rankedDifferences(comparison)
  const count = comparison.differences
  const verdict = count === 0 ? 'No differences.' : `${formatCount(count, 'difference')}.`
  const lines = [...requestLines('A', a, format), ...requestLines('B', b, format), '', style('bold', verdict)]
  if (shown.length > 0) lines.push('')
  for (const difference of shown.slice(0, limit)) lines.push(...differenceLines(difference, format))
  if (shown.length > limit) lines.push(`  … ${shown.length - limit} more`)
  if (ofClient.length > 0) lines.push('', `  Cookies and clients: ${ofClient.map(({ what }) => what).join(', ')}`)
  return lines
}

function differenceLines ({ label, what, kind, a, b }: RankedDifference, { columns, style }: Formatter): string[] {
  const textOf = (value: unknown): string => shortenMiddle(textOrJson(value), Math.min(MAX_VALUE, columns - 6))
  const lines = [style('cyan', `  ${shortenMiddle(`${label}: ${what}`, columns - 2)}`)]
  if (kind !== 'only-b') lines.push(style('red', `    - ${textOf(a)}`))
  if (kind !== 'only-a') lines.push(style('green', `    + ${textOf(b)}`))
  return lines
}

export const to: Command = {
  args: '<format> <token | latest>',
  options: {
    ...CRITERIA,
    // A shell empties the file of `> file` first, and an empty test passes.
    file: { type: 'string', help: 'write it to this file; a command that fails writes none' }
  },
  run: async ({ args: [format = '', token], flags, print, open }) => {
    const written = writeAs(format, await storedProfile({ flags, open }, token))
    if (flags.file !== undefined) return await writeFile(String(flags.file), written.text)
    await print(written, () => [written.text.trimEnd()])
  }
}

export const replay: Command = {
  args: '<token | latest>',
  options: {
    ...URL_OPTION,
    set: { type: 'string', multiple: true, help: 'name=value for a masked value; others are not sent' },
    yes: { type: 'boolean', help: 'replay a POST, PUT, PATCH or DELETE: it may repeat side effects' }
  },
  run: async ({ args: [token = ''], flags, terminal, print, open }) => {
    const values = Object.fromEntries([flags.set ?? []].flat().map((pair) => {
      const [name = '', ...value] = String(pair).split('=')
      return [name, value.join('=')]
    }))
    const confirmation = flags.yes === true ? undefined : '--yes'
    const answer = await replayOnService(await serviceOf({ flags, open }, token), token, values, confirmation)
    await print(answer, () => [
      ...comparisonLines(answer.comparison, terminal),
      ...answer.unset.map((name) => terminal.style('yellow', `Not sent, because it is masked: --set ${name}=…`))
    ])
    return answer.failed
  }
}

interface Replay { token: string, replayOf: string, status: number, comparison: Comparison }

/**
 * Replays a request on a service. `failed`: whether it failed again; `unset`: the masked values that were not sent.
 * `confirmation`: what has to be given for a method that is not safe; undefined: it was given.
 */
export async function replayOnService (
  url: string, wanted: string, values: Readonly<Record<string, string>>, confirmation: string | undefined
): Promise<Replay & { failed: boolean, unset: string[] }> {
  const path = `${encodeURIComponent(wanted)}/replay`
  const { token, request, safe, masked, formToken } = await fetchJson<ReplayView>(url, path)
  if (!safe && confirmation !== undefined) {
    throw new Error(`"${request.method} ${request.target}" may repeat side effects: ${confirmation} replays it.`)
  }
  const fields = Object.entries(values).map(([name, value]) => [`value.${name}`, value])
  const body = new URLSearchParams([['form_token', formToken], ['confirm', '1'], ...fields])
  const answer = await fetchJson<Replay>(url, `${token}/replay`, body)
  const failed = answer.status >= 400 || answer.comparison.b.exception !== null
  return { ...answer, failed, unset: masked.map(({ name }) => name).filter((name) => !Object.hasOwn(values, name)) }
}

/** The address of the service: the option, or that of the local server of the profile, else of the newest request. */
export async function serviceOf ({ flags, open }: Pick<CommandContext, 'flags' | 'open'>, token = ''): Promise<string> {
  if (flags.url !== undefined) return String(flags.url)
  const store = await open().catch(() => null)
  const searches = [{ token }, {}].map((criteria) => store?.search({ criteria, limit: MAX_RECENT }))
  const found = (await Promise.all(searches).catch(() => [])).flatMap((page) => page?.profiles ?? [])
  const local = found.find(({ url, values }) => LOCAL.test(url) && SERVER.test(values?.serverUrl ?? ''))
  return local?.values?.serverUrl ?? DEFAULT_URL
}

/** Sends a GET, or with a body a POST, to the profiler of a service; returns its JSON. Throws for an error. */
export async function fetchJson<T> (service: string, path: string, body?: URLSearchParams): Promise<T> {
  const { protocol = '', username, password } = URL.canParse(service) ? new URL(service) : {}
  if (!/^https?:$/.test(protocol) || username || password) {
    // It is not shown, as it may have a password.
    throw new Error(`--url is not an address such as ${DEFAULT_URL}, without a user and a password.`)
  }
  const response = await fetch(new URL(`_profiler/${path}`, `${service.replace(/\/+$/, '')}/`), {
    ...body !== undefined && { method: 'POST', body },
    headers: { accept: 'application/json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT)
  }).catch(({ message, cause }: Error) => {
    const reason = cause instanceof Error ? cause.message : message
    throw new Error(`The service at ${service} cannot be reached: ${reason}. Set its address with --url.`)
  })
  const answer = await response.json().catch(() => {
    throw new Error(`${service} has no profiler: its answer is not JSON.`)
  }) as T & { detail?: unknown, message?: unknown }
  if (response.ok) return answer
  throw new Error(`The service answered ${response.status}: ${String(answer.detail ?? answer.message)}`)
}
