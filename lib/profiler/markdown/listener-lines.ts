import { fence } from '../../view/markdown.js'
import { cut, visibleLine } from '../../view/visible.js'
import type { Profile } from '../profile.js'
import { isObject, listOf, type Data } from '../panels/panel.js'
import { handlerSpans } from '../panels/waterfall.js'
import { counted } from '../../view/counted.js'

const MAX_LINES = 25
const MAX_TEXT = 5_000
const MAX_CHANGES = 6
const MAX_VALUE = 80
/** Milliseconds that are long for a listener, and the share of the request that is. */
const LONG = 1
const LONG_SHARE = 0.1

/** What each listener did that changed something, answered, raised or took long, and the handler; the others are counted. */
export function listenerLines (profile: Profile): string[] {
  const events = listOf(profile.events)
  const told = events.filter((event) => isTold(event, profile))
  const handler = handlerSpans({ ...profile, events: events as unknown as Profile['events'] }).filter(({ kind }) => kind === 'handler')
  const lines = [
    // Those ahead are told, and how many there are behind them.
    ...told.map((event, i) => ({ start: Number(event.start), line: i < MAX_LINES ? eventLine(event) : '' })),
    ...handler.map(({ name, start, duration }) => ({ start, line: columns(start, duration ?? 0, name, '', '', raiserOf(profile) === 'the handler' ? 'raised' : 'ran') }))
  ].sort((a, b) => a.start - b.start).map(({ line }) => line)
  const skipped = events.filter(({ outcome }) => outcome === 'skipped').length
  const others = events.length - skipped - told.length
  let room = MAX_TEXT
  const shown = lines.slice(0, MAX_LINES).filter((line) => (room -= line.length) > 0)
  const left = lines.length - shown.length
  return [
    ...(shown.length === 0 ? [] : [fence(shown.join('\n'), 'text')]),
    ...(left > 0 ? [`${left} more are left out.`] : []),
    events.length === 0 ? 'No listener was reached.' : `${counted(others, 'other')} ran without a change to the response; ${skipped} had nothing to do.`
  ]
}

/** Who raised what the response was about: a listener, the handler, or nobody. */
export function raiserOf ({ exceptions, events, collectors }: Profile): string | null {
  const all = listOf(events)
  const raised = all.find(({ outcome }) => outcome === 'raised')
  if (raised !== undefined) return `${String(raised.listener)} in ${String(raised.stage)}`
  const handled = isObject(collectors.performance) && typeof collectors.performance.handlerStart === 'number'
  return handled && listOf(exceptions).length > 0 && all.some(({ pass }) => pass === 'error') && !all.some(({ pass, stage, outcome }) => pass === 'main' && stage === 'kernel.response' && outcome !== 'skipped')
    ? 'the handler'
    : null
}

function isTold ({ outcome, duration, changes }: Data, profile: Profile): boolean {
  if (outcome === 'answered' || outcome === 'raised') return true
  if (outcome === 'skipped') return false
  const long = Number(duration)
  return changesOf(changes).length > 0 || (long >= LONG && long >= profile.duration * LONG_SHARE)
}

function eventLine ({ start, duration, stage, listener, pass, outcome, changes }: Data): string {
  const did = changesOf(changes)
  return columns(Number(start), Number(duration), String(listener), String(stage), pass === 'error' ? 'error pass' : '', String(outcome)) +
    did.slice(0, MAX_CHANGES).map((change) => `\n${' '.repeat(24)}${change}`).join('') +
    (did.length > MAX_CHANGES ? `\n${' '.repeat(24)}and ${did.length - MAX_CHANGES} more` : '')
}

function columns (start: number, duration: number, what: string, stage: string, pass: string, outcome: string): string {
  const place = [stage, pass].filter((part) => part !== '').join(', ')
  return `${ms(start)} ${ms(duration)}  ${short(what)}${place === '' ? '' : ` (${short(place)})`}: ${short(outcome)}`
}

function ms (value: number): string {
  return `${value.toFixed(2)} ms`.padStart(11)
}

function changesOf (changes: unknown): string[] {
  if (!isObject(changes)) return []
  const { headers, status, attributes } = changes
  return [
    ...(isObject(status) ? [`status ${short(status.from)} → ${short(status.to)}`] : []),
    ...listOf(headers).map(({ name, from, to }) => to === null ? `- ${short(name)}` : from === null ? `+ ${short(name)}: ${short(to)}` : `~ ${short(name)}: ${short(from)} → ${short(to)}`),
    ...(Array.isArray(attributes) && attributes.length > 0 ? [`attributes ${short(attributes.slice(0, MAX_CHANGES).map(String).join(', '))}`] : [])
  ]
}

function short (value: unknown): string {
  return visibleLine(cut(String(value), MAX_VALUE))
}
