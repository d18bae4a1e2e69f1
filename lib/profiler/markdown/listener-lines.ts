import { counted } from '../../view/counted.js'
import { fence } from '../../view/markdown.js'
import { cut, visibleLine } from '../../view/visible.js'
import { isObject, listOf, type Data } from '../panels/panel.js'
import { handlerSpans } from '../panels/waterfall.js'
import type { Profile } from '../profile.js'

const MAX_LINES = 25
const MAX_TEXT = 5_000
const MAX_CHANGES = 6
const MAX_VALUE = 80
/** A listener is slow from this number of milliseconds and this share of the request. */
const SLOW = 1
const SLOW_SHARE = 0.1

/** The handler, and the listeners that changed something, answered, raised or were slow; the others are counted. */
export function listenerLines (profile: Profile): string[] {
  const events = listOf(profile.events)
  const notable = events.filter((event) => isNotable(event, profile))
  const raised = raiserOf(profile) === 'the route handler'
  const handlers = handlerSpans({ ...profile, events: events as unknown as Profile['events'] })
    .filter(({ kind }) => kind === 'handler')
    .map(({ name, start, duration }) => ({ start, duration, listener: name, outcome: raised ? 'raised' : 'ran' }))
  const all = [...notable, ...handlers].sort((a: Data, b: Data) => Number(a.start) - Number(b.start))
  let rest = MAX_TEXT
  const lines = all.slice(0, MAX_LINES).map(eventLine).filter((line) => (rest -= line.length) > 0)
  const left = all.length - lines.length
  const skipped = events.filter(({ outcome }) => outcome === 'skipped').length
  const others = counted(events.length - skipped - notable.length, 'other')
  return [
    ...(lines.length === 0 ? [] : [fence(lines.join('\n'), 'text')]),
    ...(left > 0 ? [`${left} more are left out.`] : []),
    events.length === 0
      ? 'No listener was reached.'
      : `${others} without changes to the response; ${skipped} skipped.`
  ]
}

/** What raised the exception of the response: a listener or the handler; null when it is not known. */
export function raiserOf ({ exceptions, events, collectors }: Profile): string | null {
  const all = listOf(events)
  const raised = all.find(({ outcome }) => outcome === 'raised')
  if (raised !== undefined) return `${String(raised.listener)} in ${String(raised.stage)}`
  const isHandled = isObject(collectors.performance) && typeof collectors.performance.handlerStart === 'number'
  const hasFailed = listOf(exceptions).length > 0 && all.some(({ pass }) => pass === 'error')
  const hasResponded = all.some(({ pass, stage, outcome }) =>
    pass === 'main' && stage === 'kernel.response' && outcome !== 'skipped')
  return isHandled && hasFailed && !hasResponded ? 'the route handler' : null
}

function isNotable ({ outcome, duration, changes }: Data, profile: Profile): boolean {
  if (outcome === 'answered' || outcome === 'raised') return true
  const isSlow = Number(duration) >= SLOW && Number(duration) >= profile.duration * SLOW_SHARE
  return outcome !== 'skipped' && (isSlow || changeTexts(changes).length > 0)
}

function eventLine ({ start, duration, stage, listener, pass, outcome, changes }: Data): string {
  // The handler has no stage.
  const place = stage === undefined ? '' : ` (${short(pass === 'error' ? `${String(stage)}, error pass` : stage)})`
  const texts = changeTexts(changes)
  const more = texts.length > MAX_CHANGES ? [`and ${texts.length - MAX_CHANGES} more`] : []
  return [
    `${ms(start)} ${ms(duration)}  ${short(listener)}${place}: ${short(outcome)}`,
    ...[...texts.slice(0, MAX_CHANGES), ...more].map((text) => ' '.repeat(24) + text)
  ].join('\n')
}

function changeTexts (changes: unknown): string[] {
  const { headers, status } = isObject(changes) ? changes : {}
  const headerTexts = listOf(headers).map(({ name, from, to }) => {
    if (to === null) return `- ${short(name)}`
    return from === null ? `+ ${short(name)}: ${short(to)}` : `~ ${short(name)}: ${short(from)} → ${short(to)}`
  })
  return [
    ...(isObject(status) ? [`status ${short(status.from)} → ${short(status.to)}`] : []),
    ...headerTexts
  ]
}

function ms (value: unknown): string {
  return `${(Number(value) || 0).toFixed(2)} ms`.padStart(11)
}

function short (value: unknown): string {
  return visibleLine(cut(String(value), MAX_VALUE))
}
