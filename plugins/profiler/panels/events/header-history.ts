import { extname } from 'node:path'
import type { ListenerEvent } from '../../../kernel/events.js'
import type { Profile } from '../../profile.js'
import { dataOf, isObject, listOf, type Data } from '../panel.js'

/** One change of a header; null: not there. */
export interface HeaderStep {
  /** Who changed it, in words. */
  by: string
  /** The number of the event; undefined where it was none that is recorded. */
  event?: number
  /** Where, as `file:line`; of a listener its file. */
  source?: string
  /** What was called, such as `reply.header`. */
  via?: string
  /** The cookie that was asked for: the header itself is written later, for all of them. */
  cookie?: string
  from: string | null
  to: string | null
}

/** What a step is: a cookie that is asked for is not in the header yet. */
export function actionOf ({ cookie, from, to }: HeaderStep): 'asked' | 'set' | 'changed' | 'removed' {
  if (cookie !== undefined) return 'asked'
  return to === null ? 'removed' : from === null ? 'set' : 'changed'
}

/** The history of all headers as programs read it. */
export function headerReport (profile: Profile): { token: string, headers: Record<string, Array<HeaderStep & { action: string }>> } {
  const headers = Object.fromEntries([...headerHistory(profile)].map(([name, steps]) => [name, steps.map((step) => ({ action: actionOf(step), ...step }))]))
  return { token: profile.token, headers }
}

const NODE = 'Node.js'
const OF_NODE = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding'])
/** What Fastify writes without a call of its own functions. */
const OF_FASTIFY = new Set(['content-type', 'content-length', 'trailer'])
// A long value is kept shorter than the listeners saw it.
const CUT = /… \([\d,.]+ more (?:bytes|characters)\)$/
const EXTENSION = extname(import.meta.url)

/** Who set, changed and removed each header of the response, in the order in which they were first seen. */
export function headerHistory (profile: Profile): Map<string, HeaderStep[]> {
  const history = new Map<string, HeaderStep[]>()
  const { events } = profile
  const trail = dataOf(profile, 'headers')
  const outside = listOf(trail.changes)
  const stepsOf = (name: string): HeaderStep[] => {
    const steps = history.get(name) ?? []
    history.set(name, steps)
    return steps
  }
  const note = (name: string, step: HeaderStep, next: number): void => {
    const steps = stepsOf(name)
    // What stands there and was set by nobody who is known was set in between.
    const last = standing(steps)
    if (step.cookie === undefined && step.from !== last && !(CUT.test(String(step.from)) || CUT.test(String(last)))) steps.push({ by: unknown(profile, next, name), from: last, to: step.from })
    steps.push(step)
  }
  events.forEach((event, i) => {
    for (const change of outside) if (change.after === i) note(String(change.name), outsideStep(profile, change, i), i)
    // Of what a hook changed it is known by which call.
    if (isHook(event) && isTrailed(profile)) return
    for (const { name, from, to } of event.changes?.headers ?? []) note(name, { by: event.listener, event: i + 1, ...placeOf(event), from, to }, i)
  })
  for (const change of outside) if (Number(change.after) >= events.length) note(String(change.name), outsideStep(profile, change, events.length), events.length)
  const { headers } = dataOf(profile, 'response')
  for (const [name, value] of isObject(headers) ? Object.entries(headers) : []) {
    const to = (Array.isArray(value) ? value : [value]).map(String).join(', ')
    const last = standing(history.get(name) ?? [])
    if (last === to || CUT.test(to)) continue
    stepsOf(name).push({ by: last === null || hasDropped(profile) ? unknown(profile, undefined, name) : isTrailed(profile) ? 'Fastify' : 'a hook behind the lifecycle', from: last, to })
  }
  for (const [name, value] of isObject(trail.node) ? Object.entries(trail.node) : []) {
    stepsOf(name).push({ by: NODE, from: null, to: typeof value === 'string' ? value : 'the moment at which it was sent' })
  }
  return history
}

function standing (steps: readonly HeaderStep[]): string | null {
  return steps.findLast(({ cookie }) => cookie === undefined)?.to ?? null
}

// An event of the application's own hooks says where they were registered.
function placeOf (event: ListenerEvent): { source?: string } {
  const { source } = event as { source?: unknown }
  if (typeof source === 'string') return { source }
  return String(event.stage).startsWith('kernel.') ? { source: `plugins/listeners/${event.listener}${EXTENSION}` } : {}
}

function outsideStep (profile: Profile, { name: header, by, package: name, function: called, handling, source, via, cookie, from, to }: Data, next: number): HeaderStep {
  const who: Readonly<Record<string, string>> = {
    application: hookOf(profile, next, String(header)) ?? whose(profile, handling === true, next, called),
    package: String(name),
    fastify: 'Fastify',
    node: NODE,
    hindsight: typeof source === 'string' && /[\\/]diagnostics[\\/]/.test(source) ? 'the diagnostic page' : 'Hindsight'
  }
  return {
    by: who[String(by)] ?? 'somebody',
    ...(typeof source === 'string' && { source }),
    ...(typeof via === 'string' && { via }),
    ...(typeof cookie === 'string' && { cookie }),
    from: typeof from === 'string' ? from : null,
    to: typeof to === 'string' ? to : null
  }
}

function isHook ({ stage }: ListenerEvent): boolean {
  return !stage.startsWith('kernel.')
}

// A change that one of the next hooks tells of is its own, unless a listener comes first.
function hookOf ({ events }: Profile, next: number, header: string): string | undefined {
  for (const event of events.slice(next)) {
    if (event.outcome === 'skipped') continue
    if (!isHook(event)) return undefined
    if (event.changes?.headers?.some(({ name }) => name === header) === true) return `the hook ${event.listener}`
  }
  return undefined
}

// What is called while the response is made may still be called by a handler that sends it.
function whose ({ events }: Profile, handling: boolean, next: number, called: unknown): string {
  const name = typeof called === 'string' ? ` (${called})` : ''
  const inHandler = handling && !events.slice(0, next).some(({ stage }) => stage === 'kernel.response')
  return `${inHandler ? 'your handler' : 'your code'}${name}`
}

function isTrailed ({ collectors }: Profile): boolean {
  return isObject(collectors.headers) && isObject(collectors.headers.node)
}

function hasDropped (profile: Profile): boolean {
  return Number(dataOf(profile, 'headers').dropped ?? 0) > 0
}

// Where all others are noted, it was Fastify itself, which writes its own without a call; of older profiles it can be guessed.
function unknown (profile: Profile, next: number | undefined, name: string): string {
  if (OF_NODE.has(name)) return NODE
  if (name === 'content-length') return 'Fastify'
  if (hasDropped(profile)) return 'one of those whose changes are left out, as there were too many'
  // Whatever runs behind the first listener is watched.
  if (isTrailed(profile)) return OF_FASTIFY.has(name) ? 'Fastify' : 'a hook or plugin registered ahead of Hindsight'
  const { events, collectors } = profile
  const event: ListenerEvent | undefined = next === undefined ? events.findLast(({ stage }) => stage === 'kernel.response') : events[next]
  const handled = isObject(collectors.performance) && typeof collectors.performance.handlerStart === 'number'
  if (event?.stage !== 'kernel.response' && event?.stage !== 'kernel.finish_request') return 'a hook or plugin outside the listeners'
  if (event.pass === 'error') return 'the handler of the error'
  return handled ? 'your handler' : 'a hook or plugin outside the listeners'
}
