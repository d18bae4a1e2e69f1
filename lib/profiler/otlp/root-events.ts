import { cut } from '../../view/visible.js'
import { dataOf, isObject, listOf, type Data } from '../panels/panel.js'
import type { Profile } from '../profile.js'
import { attributesOf, nameText, nanoseconds, type OtlpEvent } from './message.js'

/** As many as SDKs keep by default. */
const MAX_EVENTS = 128
const MAX_EXCEPTIONS = 20
const MAX_CONTEXT = 1_000

/** The exceptions of a profile and the lines of its log, as events of its span, in the order of time; the oldest lines are left out first. */
export function rootEvents (profile: Profile, epoch: number): { events: OtlpEvent[], dropped: number } {
  const others = profile.collectors.otherErrors
  const at = raisedAt(profile)
  const exceptions = [...listOf(profile.exceptions), ...(Array.isArray(others) ? others : []).flatMap((chain) => listOf(chain).slice(-1))]
  const kept = exceptions.slice(-MAX_EXCEPTIONS).map((exception) => exceptionEvent(exception, nanoseconds(epoch, at)))
  // The notifications of the lifecycle are spans of their own.
  const lines = listOf(profile.logs).filter(({ channel, level }) => channel !== 'event' || (level !== 'debug' && level !== 'trace'))
  const shown = lines.slice(-(MAX_EVENTS - kept.length)).map((line) => lineEvent(line, epoch))
  const events = [...kept, ...shown].sort((a, b) => a.timeUnixNano.length - b.timeUnixNano.length || (a.timeUnixNano < b.timeUnixNano ? -1 : a.timeUnixNano > b.timeUnixNano ? 1 : 0))
  return { events, dropped: exceptions.length + lines.length - events.length }
}

function exceptionEvent ({ name, message, stack }: Data, timeUnixNano: string): OtlpEvent {
  return { timeUnixNano, name: 'exception', attributes: attributesOf({ 'exception.type': name, 'exception.message': message, 'exception.stacktrace': stack }) }
}

function lineEvent ({ time, level, channel, message, context }: Data, epoch: number): OtlpEvent {
  // A line that is not of this request's time (a clock was set) stands at its beginning.
  const then = Math.max(epoch, Date.parse(String(time)) || 0)
  return {
    timeUnixNano: nanoseconds(then),
    name: nameText('log'),
    attributes: attributesOf({ 'log.severity': level, 'log.channel': channel, 'log.message': message, ...(isObject(context) && Object.keys(context).length > 0 && { 'log.context': cut(JSON.stringify(context), MAX_CONTEXT) }) })
  }
}

// When the listener that raised was done, or the handler; else when the response was over.
function raisedAt (profile: Profile): number {
  const raised = listOf(profile.events).find(({ outcome }) => outcome === 'raised')
  if (raised !== undefined) return Number(raised.start) + Number(raised.duration)
  const { handlerStart, handler } = dataOf(profile, 'performance')
  return typeof handlerStart === 'number' && typeof handler === 'number' ? Math.min(handlerStart + handler, profile.duration) : profile.duration
}
