import { TOKEN_PATTERN } from '../../lib/profiler/token.js'
import { CommandError, type Command, type CommandContext } from '../command.js'

function pinning (pinned: boolean): (context: CommandContext) => Promise<void> {
  return async function pin ({ args: [token = ''], flags, terminal, open }) {
    if (!TOKEN_PATTERN.test(token)) throw new CommandError(`"${token}" is not a token of six hexadecimal digits.`, 2)
    const store = await open()
    if (!await store.pin(token, pinned)) throw new CommandError(`Token "${token}" was not found.`)
    if (flags.json === true) await terminal.json({ token, pinned })
    else await terminal.line(pinned ? `${token} is pinned: it stays until it is unpinned.` : `${token} is not pinned any more.`)
  }
}

/** Keeps a profile from being evicted. */
export const pinCommand: Command = { name: 'pin', args: '<token>', what: 'keep a profile from being evicted', arity: [1, 1], run: pinning(true) }

/** Lets a pinned profile go. */
export const unpinCommand: Command = { name: 'unpin', args: '<token>', what: 'let a pinned profile go', arity: [1, 1], run: pinning(false) }
