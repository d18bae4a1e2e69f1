import type { Comparison } from '../../lib/profiler/compare/compare.js'
import { FORMATS, writeAs } from '../../lib/profiler/formats/formats.js'
import type { ReplayView } from '../../lib/profiler/pages/replay.js'
import { NotSendableError } from '../../lib/profiler/replay/stored-request.js'
import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { visibleLine } from '../../lib/view/visible.js'
import { CommandError, findProfile, NO_PROFILE, searchOf, type Command } from '../command.js'
import { comparisonLines, EVENTS } from './compare.js'

const FORMS = FORMATS.map(({ name }) => name)
const DEFAULT_URL = 'http://127.0.0.1:3000'
/** Milliseconds. */
const TIMEOUT = 60_000

export const to: Command = {
  args: '<form> [token | latest]',
  summary: `write the request of a profile as ${FORMS.join(', ')}`,
  criteria: 'all',
  options: {
    app: { type: 'string', help: 'of a test: the file of the application, as the test imports it; ./app.js by default' }
  },
  run: async ({ args, flags, terminal, open }) => {
    // The profile may be first, and its form is curl by default.
    const [form = '', token = 'latest'] = isProfile(args[0]) ? [args[1] ?? 'curl', args[0]] : args
    const { app } = flags
    const format = FORMATS.find((one) => one.name === form)
    if (format === undefined) {
      throw new CommandError(`"${form}" is not a form; the forms are ${FORMS.join(', ')}.`, 2)
    }
    if (form !== 'test' && app !== undefined) throw new CommandError('--app needs the form test.', 2)
    if (app === '') throw new CommandError('--app is empty.', 2)
    const profile = await findProfile(open, token, searchOf(flags).criteria)
    try {
      const written = writeAs(format, profile, app === undefined ? {} : { app: String(app) })
      await (flags.json === true ? terminal.json(written, 2) : terminal.line(written.text.replace(/\n$/, '')))
    } catch (error) {
      if (!(error instanceof NotSendableError)) throw error
      throw new CommandError(`The request of profile "${profile.token}" cannot be replayed: ${error.message}`)
    }
  }
}

function isProfile (text = ''): boolean {
  return text === 'latest' || TOKEN_PATTERN.test(text)
}

export const replay: Command = {
  args: '<token | latest>',
  summary: 'replay a request on the running service, and compare both',
  options: {
    ...EVENTS,
    url: { type: 'string', help: `the address of the service; ${DEFAULT_URL} by default` },
    set: { type: 'string', multiple: true, help: 'name=value for a masked value; parts without a value are not sent' },
    yes: { type: 'boolean', help: 'replay a POST, PUT, PATCH or DELETE: it may repeat side effects' }
  },
  run: async ({ args: [token = ''], flags, terminal, print, signal }) => {
    if (!isProfile(token)) throw new CommandError(NO_PROFILE(token), 2)
    const values = new Map([flags.set ?? []].flat().map((pair) => readPair(String(pair))))
    const send = async <T> (token: string, body?: URLSearchParams): Promise<T> =>
      await fetchJson(String(flags.url ?? DEFAULT_URL), `/_profiler/${token}/replay`, signal, body)
    const view = await send<ReplayView & { formToken: string }>(token)
    const { request, problem, safe, masked, formToken } = view
    if (problem !== undefined) throw new CommandError(`The request cannot be replayed: ${problem}`)
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
      throw new CommandError(`"${request.method} ${request.target}" may repeat side effects: --yes replays it.`)
    }
    const fields = [...values].filter(([, value]) => value !== '').map(([name, value]) => [`value.${name}`, value])
    const body = new URLSearchParams([['form_token', formToken], ['confirm', '1'], ...fields])
    const answer = await send<{ token: string, comparison: Comparison }>(view.token, body)
    await print(answer, () => comparisonLines(answer.comparison, terminal, flags.events === true))
  }
}

function readPair (text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new CommandError(`--set: "${text}" is not name=value.`, 2)
  return [text.slice(0, at), text.slice(at + 1)]
}

/** The JSON that a service answers to a GET, or with a body to a POST. Throws a `CommandError` for any other answer. */
async function fetchJson<T> (service: string, path: string, signal: AbortSignal, body?: URLSearchParams): Promise<T> {
  if (!/^https?:\/\/./.test(service) || !URL.canParse(service)) {
    throw new CommandError(`--url: "${service}" is not the address of a service, such as ${DEFAULT_URL}.`, 2)
  }
  const { origin, pathname } = new URL(service)
  const response = await fetch(origin + pathname.replace(/\/+$/, '') + path, {
    ...body !== undefined && { method: 'POST', body },
    headers: { accept: 'application/json' },
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)])
  }).catch(({ message, cause }: Error) => {
    const reason = cause instanceof Error && cause.message !== '' ? cause.message : message
    throw new CommandError(`The service at ${origin} cannot be reached: ${reason}. Set its address with --url.`)
  })
  const answer = await response.json().catch((error: unknown) => {
    if (!(error instanceof SyntaxError)) throw error
    throw new CommandError(`${origin} has no profiler: its answer is not JSON.`)
  }) as T & { detail?: unknown, message?: unknown }
  if (response.ok) return answer
  const hint = response.status === 404 ? ' (Replay works in debug mode only.)' : ''
  throw new CommandError(`The service answered ${response.status}: ${String(answer.detail ?? answer.message)}${hint}`)
}
