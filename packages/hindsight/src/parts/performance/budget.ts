import type { TimeBudget } from '../../recording/work-log.js'
import { shortFile } from '../../errors/stack-frame.js'
import { formatTime } from '../../view/components.js'
import { formatCount, presentItems } from '../../view/text.js'
import { lineOf } from '../read.js'

/** Shares of the whole below it are left out of the sentence. */
const MIN_SHARE = 0.02
const MIN_HINDSIGHT = 0.01
const MIN_MEANWHILE = 0.1
/** Of the time of JavaScript. */
const MIN_COLLECTION = 0.1
/** Milliseconds: a system may count the CPU time of a thread in ticks, of 1 to 10 ms. */
const MIN_CPU = 10

const UNKNOWN = 'waiting for something that was not recorded'

type TimedText = [time: number, text: string]

/** Whether the time of JavaScript and that of other processes are known, and not only their sum. */
export function isSplit ({ javascript, starved = 0 }: Pick<TimeBudget, 'javascript' | 'starved'>): boolean {
  return javascript + starved >= MIN_CPU
}

/**
 * Where the time of a request went, in one sentence; `total` is its duration, `hook` that of its response, `waited`
 * what is known of time without any work.
 */
export function budgetSentence (
  budget: TimeBudget, total: number,
  { hook, waited = UNKNOWN }: Partial<Record<'hook' | 'waited', string | undefined>> = {}
): string {
  const { work, open = [], meanwhile = 0, starved = 0, hindsight = 0, sending, waiting, isShared } = budget
  // Since the total was measured, Hindsight may have begun its page.
  const javascript = Math.min(budget.javascript, total)
  const collection = Math.min(budget.collection, javascript)
  // Of a collection, it is not known when other processes had the CPU.
  const isCollected = collection >= javascript * MIN_COLLECTION && collection >= 1 &&
    budget.collection <= budget.javascript
  const others = isShared && 'other work included'
  const noted = notesOf([others, isCollected && `${formatTime(collection)} of it garbage collection`])
  let busy: TimedText[] = [[Math.min(total, javascript + starved), `in which the event loop was busy${noted}`]]
  if (isSplit({ javascript, starved })) {
    busy = [
      [javascript, `of JavaScript${noted}`],
      [starved, 'in which other processes had the CPU, or a synchronous call waited']
    ]
  }
  const pending = open.length === 0 ? '' : `, while ${open.join(', ')} had not ended`
  const parts: TimedText[] = [
    ...work.map(({ count, duration, one, many, source }): TimedText => {
      const place = source === undefined ? '' : ` (${shortFile(lineOf(source))})`
      const during = /^(?:timer|await)$/.test(one) && waiting < total * MIN_SHARE ? pending : ''
      return [duration, `in ${formatCount(count, one, many)}${place}${during}`]
    }),
    [
      meanwhile >= Math.max(MIN_CPU, total * MIN_MEANWHILE) ? meanwhile : 0,
      `of JavaScript meanwhile${notesOf([others])}`
    ],
    ...busy,
    [sending, hook === undefined ? 'sending or streaming the response' : `in ${hook}, or sending the response`],
    [waiting, pending === '' ? waited : `waiting${pending}`]
  ]
  const shown = parts.filter(([time]) => time >= total * MIN_SHARE)
    .map(([time, text]) => `${formatTime(time)} ${text}`)
  if (hindsight >= total * MIN_HINDSIGHT) shown.push(`${formatTime(hindsight)} of Hindsight`)
  const [whole, text] = [formatTime(total), `${shown.join(', ')}.`]
  if (shown.length === 1 && text.startsWith(`${whole} `)) return text
  return `${whole}: ${text}`
}

function notesOf (notes: Array<string | false>): string {
  const text = presentItems(notes).join(', ')
  return text && ` (${text})`
}
