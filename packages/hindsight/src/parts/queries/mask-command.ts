import { MASKED, type Mask } from '../../mask/mask.js'
import { isSmall } from './mask-document.js'

export interface Shown { statement: string, parameters: unknown }

/** Commands whose arguments are hidden: they authenticate, set passwords, or run a script that is unknown. */
const SECRET_COMMAND = /^(?:AUTH|HELLO|ACL|CONFIG|SENTINEL|MIGRATE|EVALSHA|FCALL)\b/i
/** Commands with a text in another language, in which a secret name may be anywhere. */
const CODE_COMMAND = /^(?:EVAL|SCRIPT|FUNCTION|FT)\b/i
/** A key of express-session and the like. */
const SESSION_KEY = /(?<=^|:)(sess:)\S+/

/** Masks a command of Redis: what follows a secret name is hidden. Arguments are parameters, or in the statement. */
export function maskCommand (mask: Mask, statement: string, parameters: unknown): Shown {
  if (parameters !== undefined && !Array.isArray(parameters)) {
    return { statement: mask.text(statement), parameters: mask.value(parameters) }
  }
  const [command = '', ...words] = statement.trim().split(/\s+/)
  const args: unknown[] = [...words, ...parameters as unknown[] | undefined ?? []]
  const first = firstHidden(mask, command, args)
  const shown = args.map((value, i): unknown => {
    if (i >= first) return isSmall(value) ? value : MASKED
    if (typeof value !== 'string') return mask.value(value)
    return mask.text(value).replace(SESSION_KEY, `$1${MASKED}`)
  })
  return {
    statement: [command, ...shown.slice(0, words.length)].join(' '),
    parameters: parameters === undefined ? undefined : shown.slice(words.length)
  }
}

/** The position of the first argument that is hidden. */
function firstHidden (mask: Mask, command: string, args: readonly unknown[]): number {
  if (SECRET_COMMAND.test(command)) return 0
  const texts = args.map((value) => typeof value === 'string' ? value : '')
  if (CODE_COMMAND.test(command)) return texts.some((text) => mask.mentions(text)) ? 0 : Infinity
  // Of a value, which may be JSON, nothing follows.
  const name = texts.findIndex((text) => text.length <= 256 && !/[\s{]/.test(text) && mask.mentions(text))
  if (name === -1) return Infinity
  return name + 1
}
