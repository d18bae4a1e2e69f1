import { createInterface } from 'node:readline/promises'
import type { Comparison } from '../../lib/profiler/compare/comparison.js'
import type { ReplayView } from '../../lib/profiler/pages/replay.js'
import { visibleLine } from '../../lib/view/visible.js'
import { CommandError, type Command } from '../command.js'
import { comparisonLines } from '../comparison-lines.js'
import { checkToken } from '../find.js'
import { askService } from '../service.js'

const DEFAULT_URL = 'http://127.0.0.1:3000'

/** Has a running service send a stored request again, and tells how the two profiles differ. */
export const replayCommand: Command = {
  name: 'replay',
  args: '<token>',
  what: 'have the running service send a request again, and tell what is different now',
  flags: { url: { type: 'string' }, set: { type: 'string', multiple: true }, yes: { type: 'boolean' } },
  help: {
    url: `where the service is; ${DEFAULT_URL} by default`,
    set: 'name=value for what the profile has masked, such as authorization="Bearer x"; what is not set is not sent',
    yes: 'send a request that may change something without asking'
  },
  arity: [1, 1],
  async run ({ args: [token = ''], flags, terminal, signal }) {
    checkToken(token)
    const values = new Map([flags.set ?? []].flat().map((pair) => pairOf(String(pair))))
    const place = `${serviceOf(String(flags.url ?? DEFAULT_URL))}/_profiler/${token}/replay`
    const view = await askService<ReplayView & { formToken: string }>(place, signal)
    const { request: { method, target }, problem, safe, gaps, formToken } = view
    if (problem !== null) throw new CommandError(`It cannot be sent again: ${problem}`)
    for (const name of values.keys()) {
      if (!gaps.some((gap) => gap.name === name)) throw new CommandError(`--set ${name}: nothing of that name is masked; ${gaps.length === 0 ? 'nothing is' : `masked are ${gaps.map(({ name }) => name).join(', ')}`}.`, 2)
    }
    // The same names that "fastify-hindsight to curl" reads.
    for (const { name, env } of gaps) if (!values.has(name) && process.env[env] !== undefined) values.set(name, String(process.env[env]))
    const left = gaps.filter(({ name }) => !values.has(name)).map(({ name }) => name)
    if (left.length > 0) process.stderr.write(`Not sent, as the profile has it masked: ${visibleLine(left.join(', '))}. --set name=value says what it is.\n`)
    if (!safe && flags.yes !== true) await confirm(`${method} ${target}`, signal)
    const fields = [['form_token', formToken], ['confirm', '1'], ...[...values].map(([name, value]) => [`value.${name}`, value])] as Array<[string, string]>
    const answer = await askService<{ token: string, comparison: Comparison }>(place, signal, fields)
    if (flags.json === true) return await terminal.json(answer, 2)
    for (const line of comparisonLines(answer.comparison, terminal)) await terminal.line(line)
  }
}

function pairOf (text: string): [string, string] {
  const equals = text.indexOf('=')
  if (equals < 1) throw new CommandError(`--set: "${text}" is no name=value.`, 2)
  return [text.slice(0, equals), text.slice(equals + 1)]
}

function serviceOf (url: string): string {
  const { protocol, origin, pathname } = URL.canParse(url) ? new URL(url) : { protocol: '', origin: '', pathname: '' }
  if (protocol !== 'http:' && protocol !== 'https:') throw new CommandError(`--url: "${url}" is no address of a service such as ${DEFAULT_URL}.`, 2)
  return origin + pathname.replace(/\/+$/, '')
}

async function confirm (what: string, signal: AbortSignal): Promise<void> {
  if (!process.stdin.isTTY) throw new CommandError(`"${what}" may change something: --yes sends it.`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await lines.question(`${visibleLine(what)}\nThis may change something. Send it again? [y/N] `, { signal })
    if (!/^y(?:es)?$/i.test(answer.trim())) throw new CommandError('Nothing was sent.')
  } finally {
    lines.close()
  }
}
