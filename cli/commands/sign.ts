import { parse } from '@lukeed/ms'
import { MAX_DAYS, signDemand } from '../../lib/profiler/on-demand.js'
import { CommandError, type Command } from '../command.js'

/** Makes the header with which a client asks for a profile of its own request. */
export const signCommand: Command = {
  name: 'sign',
  args: '',
  what: 'make the header that asks for a profile on demand (PROFILER_SECRET)',
  flags: { for: { type: 'string' } },
  help: { for: 'how long it holds, such as 15m or 2h; an hour by default, 30 days at most' },
  arity: [0, 0],
  async run ({ flags, terminal }) {
    const secret = process.env.PROFILER_SECRET ?? ''
    if (secret.length < 32) throw new CommandError('PROFILER_SECRET is not set: it has at least 32 characters, the same as those of the service.', 2)
    const written = String(flags.for ?? '1h')
    const duration = parse(written)
    if (duration === undefined || duration <= 0) throw new CommandError(`--for: "${written}" is not a duration such as 15m or 2h.`, 2)
    if (duration > MAX_DAYS * 24 * 3_600_000) throw new CommandError(`--for: "${written}" is too long: a signature holds for at most ${MAX_DAYS} days.`, 2)
    const until = Math.floor((Date.now() + duration) / 1000)
    const value = signDemand(secret, until)
    if (flags.json === true) return await terminal.json({ header: 'x-hindsight-profile', parameter: '_profile', value, until: new Date(until * 1000).toISOString() })
    await terminal.line(`x-hindsight-profile: ${value}`)
  }
}
