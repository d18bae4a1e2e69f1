import type { Comparison } from '../../lib/profiler/compare/compare.js'
import { FORMATS, writeAs } from '../../lib/profiler/formats/formats.js'
import type { ReplayView } from '../../lib/profiler/pages/replay.js'
import { NotSendableError } from '../../lib/profiler/replay/stored-request.js'
import { visibleLine } from '../../lib/view/visible.js'
import { checkToken, CommandError, profileOf, type Command } from '../command.js'
import { comparisonLines } from './compare.js'

const FORMS = ['curl', 'fetch', 'http', 'har', 'test']
const DEFAULT_URL = 'http://127.0.0.1:3000'
/** Milliseconds. */
const TIMEOUT = 60_000

export const toCommand: Command = {
  name: 'to',
  args: '<form> <token>',
  summary: `write the request of a profile as ${FORMS.join(', ')}`,
  options: {
    framework: { type: 'string', help: 'of a test: tap, or node for node:test; node by default' },
    app: { type: 'string', help: 'of a test: the specifier of the application in its import; ./app.js by default' }
  },
  arity: [2, 2],
  run: async ({ args: [form = '', token = ''], flags: { framework, app, json }, terminal, open }) => {
    if (!FORMS.includes(form)) throw new CommandError(`"${form}" is not a form; the forms are ${FORMS.join(', ')}.`, 2)
    for (const [flag, value] of Object.entries({ framework, app })) {
      if (value !== undefined && form !== 'test') throw new CommandError(`--${flag} belongs to the form test.`, 2)
    }
    const name = form === 'test' ? String(framework ?? 'node') : form
    const format = FORMATS.find((one) => one.name === name)
    if (format === undefined || (form === 'test' && FORMS.includes(name))) {
      throw new CommandError(`--framework: "${name}" is neither tap nor node.`, 2)
    }
    if (app === '') throw new CommandError('--app: it is empty; it is a specifier such as ./app.js.', 2)
    const profile = await profileOf(open, token)
    try {
      const written = writeAs(format, profile, app === undefined ? {} : { app: String(app) })
      if (json === true) await terminal.json(written, 2)
      else await terminal.line(written.text.replace(/\n$/, ''))
    } catch (error) {
      if (!(error instanceof NotSendableError)) throw error
      throw new CommandError(`The request of profile "${token}" cannot be sent again: ${error.message}`)
    }
  }
}

export const replayCommand: Command = {
  name: 'replay',
  args: '<token>',
  summary: 'send a request to the running service again, and show the differences',
  options: {
    url: { type: 'string', help: `the address of the service; ${DEFAULT_URL} by default` },
    set: { type: 'string', multiple: true, help: 'name=value for a masked value; parts without a value are not sent' },
    yes: { type: 'boolean', help: 'send a request whose method is not safe, as it may change something' }
  },
  arity: [1, 1],
  run: async ({ args: [token = ''], flags, terminal, signal }) => {
    checkToken(token)
    const values = new Map([flags.set ?? []].flat().map((pair) => pairOf(String(pair))))
    const url = `${serviceUrl(String(flags.url ?? DEFAULT_URL))}/_profiler/${token}/replay`
    const view = await fetchJson<ReplayView & { formToken: string }>(url, signal)
    const { request: { method, target }, problem, safe, masked, formToken } = view
    if (problem !== undefined) throw new CommandError(`It cannot be sent again: ${problem}`)
    const names = masked.map(({ name }) => name)
    const unknown = [...values.keys()].find((name) => !names.includes(name))
    if (unknown !== undefined) {
      const known = names.length === 0 ? 'nothing is' : `masked are ${names.join(', ')}`
      throw new CommandError(`--set ${unknown}: nothing of that name is masked; ${known}.`, 2)
    }
    // The variables that the snippets read, too.
    for (const { name, env } of masked) if (!values.has(name)) values.set(name, process.env[env] ?? '')
    const empty = names.filter((name) => values.get(name) === '')
    if (empty.length > 0) {
      const list = visibleLine(empty.join(', '))
      process.stderr.write(`Not sent, as it is masked in the profile: ${list}. Use --set name=value.\n`)
    }
    if (!safe && flags.yes !== true) {
      throw new CommandError(`"${method} ${target}" may change something: --yes sends it.`)
    }
    const fields = [...values].filter(([, value]) => value !== '').map(([name, value]) => [`value.${name}`, value])
    const body = new URLSearchParams([['form_token', formToken], ['confirm', '1'], ...fields])
    const answer = await fetchJson<{ token: string, comparison: Comparison }>(url, signal, { method: 'POST', body })
    if (flags.json === true) await terminal.json(answer, 2)
    else await terminal.lines(comparisonLines(answer.comparison, terminal))
  }
}

function pairOf (text: string): [string, string] {
  const [, name, value] = /^([^=]+)=([^]*)$/.exec(text) ?? []
  if (name === undefined || value === undefined) throw new CommandError(`--set: "${text}" is not name=value.`, 2)
  return [name, value]
}

function serviceUrl (text: string): string {
  const { protocol, origin, pathname } = URL.canParse(text) ? new URL(text) : { protocol: '', origin: '', pathname: '' }
  if (protocol === 'http:' || protocol === 'https:') return origin + pathname.replace(/\/+$/, '')
  throw new CommandError(`--url: "${text}" is not the address of a service, such as ${DEFAULT_URL}.`, 2)
}

async function fetchJson<T> (url: string, signal: AbortSignal, options: RequestInit = {}): Promise<T> {
  const { origin } = new URL(url)
  let response: Response
  let answer: unknown
  try {
    response = await fetch(url, {
      ...options,
      headers: { accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)])
    })
    answer = JSON.parse(await response.text())
  } catch (error) {
    if (error instanceof SyntaxError) throw new CommandError(`${origin} has no profiler: its answer is not JSON.`)
    const { message, cause } = error as Error
    const reason = cause instanceof Error && cause.message !== '' ? cause.message : message
    throw new CommandError(`The service at ${origin} cannot be reached: ${reason}. Name it with --url.`)
  }
  if (response.ok) return answer as T
  const { detail, message } = answer as { detail?: unknown, message?: unknown }
  const hint = response.status === 404 ? ' (Requests are sent again in debug mode only.)' : ''
  throw new CommandError(`The service answered ${response.status}: ${String(detail ?? message ?? '')}${hint}`)
}
