import { roundTime } from '../../clock.js'
import { shortFile } from '../../errors/stack-frame.js'
import { hookTitle } from '../../recording/events.js'
import { JobTrace, RequestTrace, type WorkTrace } from '../../recording/trace.js'
import type { TimeBudget } from '../../recording/work-log.js'
import type { DeclaredRoute } from '../../routing/route-table.js'
import { html, presentItems, unbrokenUnits, type HtmlValue } from '../../view/text.js'
import { formatTime, withPlaces } from '../../view/components.js'
import { isSuccess, MIN_SLOW, type Profile } from '../../store/profile.js'
import { addressOf, dataOf, groupedBy, isObject, lineOf, listOf, numberOf, type Data } from '../read.js'
import { busiestPlace, CPU_HEADER } from '../cpu/record.js'
import { recordForm } from '../cpu/record-form.js'
import type { Part, TimelineEntry } from '../part.js'
import { budgetSentence, isSplit } from './budget.js'

/** When the handler ran, and where the time went; the timeline shows it. */
export const performance: Part<Data> = {
  name: 'performance',
  begin: (trace) => trace.recording.collect(performance, () => performanceRecord(trace)),
  sentence (data, profile) {
    // What failed or was refused is not about its time, unless it was slow.
    if (!isSuccess(profile) && profile.duration < MIN_SLOW) return undefined
    return budgetOf(data, profile)[0]
  },
  findings (data, profile) {
    const sentence = blockSentence(data, profile)?.replace(/\.$/, '')
    // Another request may have blocked it.
    if (sentence === undefined || (data.budget as TimeBudget).isShared) return []
    const place = placeOfBlock(data, profile)
    return [{ order: 40, text: place === undefined ? sentence : `${sentence}, while the request was in ${place}` }]
  },
  timeline (
    { handlerStart, handler, routeHooks, ownHooks, serializeStart, serialize, hindsightStart, hindsight, budget },
    { route, duration: total, collectors }
  ) {
    const end = isHijacked(collectors) ? total - Number(handlerStart) : null
    const { collections } = (budget ?? {}) as Data
    const name = route?.name ?? 'unnamed'
    const detail = `the handler of the route ${name}`
    const link = addressOf('router')
    return [
      {
        step: 'handler',
        name: `${routeHooks === true ? 'route hooks and ' : ''}handler ${name}`,
        start: handlerStart,
        duration: numberOf(handler) ?? end,
        detail,
        link,
        source: route?.handler
      },
      ...listOf(ownHooks).map(({ stage, name, start, duration = total - Number(start) }) => ({
        step: 'hook',
        name,
        start,
        duration,
        detail: `${String(stage)} of the route, and what Fastify does besides`,
        link: addressOf('router'),
        source: route?.handler,
        stage
      })),
      {
        step: 'serialization',
        name: 'serialization',
        start: serializeStart,
        duration: numberOf(serialize),
        link: addressOf('request')
      },
      {
        ofHindsight: true,
        name: 'Hindsight',
        link: addressOf('timeline'),
        start: hindsightStart,
        duration: numberOf(hindsight),
        legend: 'page or toolbar of Hindsight'
      },
      ...listOf(collections).map(({ start, duration }) => (
        {
          name: 'garbage collection',
          color: 'collection',
          legend: 'garbage collection',
          link: addressOf('timeline'),
          start,
          duration
        }))
    ] as TimelineEntry[]
  },
  overview: (data, profile, view) => [
    { order: 5, title: '', column: 'top', value: budgetBar(data, profile) },
    { order: 15, title: 'Event loop', value: withPlaces(blockSentence(data, profile) ?? '', view.editor) },
    { order: 16, title: 'CPU', value: isBusy(data, profile) && recordForm(profile, view) }
  ],
  markdown (data, profile) {
    const sentence = blockSentence(data, profile)
    if (sentence === undefined) return []
    const place = placeOfBlock(data, profile)
    const sentences = [
      sentence,
      place !== undefined && `Meanwhile the request was in ${place}.`,
      // Only a request can be sent again.
      profile.kind === undefined && blockedLine(data, profile) === undefined && recordCommand(profile)
    ]
    return [{ order: 24, title: 'Blocked event loop', text: presentItems(sentences).join('\n') }]
  },
  toolbar: (data, { duration }) => {
    const [handlerDuration, firstByte] = [numberOf(data.handler), numberOf(data.firstByte)]
    return {
      order: 30,
      className: 'time',
      title: 'Time',
      panel: 'timeline',
      head: html`${formatTime(duration)}`,
      facts: { Handler: formatTime(handlerDuration), 'Response ready': formatTime(firstByte ?? duration) },
      // Until the response was ready to be sent; null: not available.
      values: { handlerDuration, firstByte }
    }
  },
  toolbarStyle: '.time { --icon: ' +
    '"M7 0a7 7 0 100 14A7 7 0 007 0zm0 2a5 5 0 110 10A5 5 0 017 2zm-1 2h1.5v3l2.5 1-1 1.5L6 8z" }\n',
  times ({ budget }) {
    const { work = [], javascript, starved, hindsight, waiting, sending } = (budget ?? {}) as Partial<TimeBudget>
    const times = {
      JavaScript: javascript,
      'other processes': starved,
      Hindsight: hindsight,
      'waiting for something that was not recorded': waiting,
      'sending the response': sending
    }
    // Queries and calls have their own times.
    const waits = work.flatMap(({ one, count, duration, source }) => {
      if (source === undefined) return []
      return [{ name: `${one} from ${shortFile(lineOf(source))}`, time: duration, count }]
    })
    return [...Object.entries(times).flatMap(([name, time]) => time === undefined ? [] : [{ name, time }]), ...waits]
  },
  comparison: []
}

/**
 * The data of the part `performance`, in milliseconds: the durations of the handler and of the serialization with its
 * hooks, when these began, and when the response was ready to be sent, since the request arrived; how long Hindsight
 * made its page or toolbar, or started the CPU profile (`prepared`), which neither `firstByte` nor the duration of the
 * profile contains; and where the time went. `routeHooks`: the time of the handler has that of the `preHandler` hooks
 * of its route.
 */
function performanceRecord (trace: WorkTrace): Data {
  const { recording, services: { lifecycle } } = trace
  const route = trace instanceof RequestTrace ? trace.declaredRoute : null
  const { timing, work } = recording
  const routeHooks = route?.hooks.includes('preHandler') === true
  // The hooks of the stages of a lifecycle.
  const hooks = trace instanceof RequestTrace && route !== null
    ? hooksOfStages(route, trace, lifecycle?.stages ?? {})
    : []
  const { startedAt, prepared, handlerStart, handlerEnd, serializeStart, serializeEnd, responseReadyAt } = timing
  const { own, internalStart, endedAt } = timing
  // For the page of a failure, its response is ready.
  const pageStart = recording.internalSince
  // While a job runs, what the process does says nothing about it.
  const isTimed = trace instanceof RequestTrace || recording.isOver
  // Work that is done has not waited for what has not ended.
  const isDone = trace instanceof JobTrace && recording.isOver && recording.failure === null
  const readyAt = isDone ? endedAt : responseReadyAt || (pageStart ?? 0)
  const budget = isTimed ? work?.budget(readyAt, own, trace.mask, pageStart ?? Infinity) : undefined
  // What blocks a start may be Hindsight, which is loaded meanwhile.
  if (budget !== undefined && trace instanceof JobTrace && trace.facts.kind === 'start') budget.blocks = []
  const internalWithin = internalStart > serializeStart && internalStart < serializeEnd ? own : 0
  return {
    ...(handlerStart !== 0 && { handlerStart: roundTime(handlerStart - startedAt) }),
    ...(routeHooks && { routeHooks }),
    ...(hooks.length > 0 && { ownHooks: hooks }),
    ...(handlerEnd !== 0 && { handler: roundTime(handlerEnd - handlerStart) }),
    ...(serializeEnd !== 0 && {
      serializeStart: roundTime(serializeStart - startedAt),
      serialize: roundTime(serializeEnd - serializeStart - internalWithin)
    }),
    ...(responseReadyAt !== 0 && { firstByte: roundTime(responseReadyAt - startedAt - own) }),
    ...(own !== 0 && { hindsightStart: roundTime(internalStart - startedAt), hindsight: roundTime(own) }),
    ...(prepared !== 0 && { prepared: roundTime(prepared) }),
    ...(budget !== undefined && { budget })
  }
}

/** Lines that a request waits for, in its sentence. */
const MAX_OPEN = 3
/** Milliseconds of JavaScript from which a CPU profile is offered. */
const MIN_BUSY = 20
const STAGES: readonly string[] = ['onRequest', 'preParsing', 'preValidation', 'preHandler']

/**
 * When hooks of the route itself ran, which are not recorded: between the recorded functions of other stages. Those of
 * `onSend` end with the response, and `preHandler` is part of the handler's time.
 */
function hooksOfStages (
  { hooks, options }: DeclaredRoute, { request, recording }: RequestTrace, hookOf: Readonly<Record<string, string>>
): Data[] {
  const { timing, events } = recording
  const { startedAt, parsedAt, handlerStart, responseReadyAt } = timing
  const placeOf = (stage: string): number => STAGES.indexOf(hookOf[stage] ?? stage)
  const all = events?.events().map((event) => ({ ...event, place: placeOf(event.stage) })) ?? []
  return hooks.flatMap((stage) => {
    const place = placeOf(stage)
    const isSent = stage === 'onSend' && responseReadyAt !== 0
    if (!isSent && (handlerStart === 0 || place < 0 || stage === 'preHandler')) return []
    const isParsed = stage === 'preValidation'
    // A client may take long to send a body.
    if (!isSent && request.body != null && (!isParsed || parsedAt === 0)) return []
    const earlier = all.filter((event) => event.place >= 0 && event.place <= place)
    const later = all.filter((event) => event.place > place)
    const least = isParsed ? Math.max(0, parsedAt - startedAt) : 0
    const start = Math.max(least, ...earlier.map(({ start, duration }) => start + duration))
    const duration = Math.min(handlerStart - startedAt, ...later.map(({ start }) => start)) - start
    const names = [options[stage as 'onSend'] as object].flat().map((hook) => (hook as () => void).name)
    const name = names.filter((name) => name !== '' && name !== stage).join(', ') || `${stage} of the route`
    if (isSent) return [{ stage, name, start: roundTime(responseReadyAt - startedAt) }]
    if (duration <= 0) return []
    return [{ stage, name, start: roundTime(start), duration: roundTime(duration) }]
  })
}

function isHijacked (collectors: Profile['collectors']): boolean {
  const { streamed } = dataOf({ collectors }, 'response')
  return isObject(streamed) && streamed.isHijacked === true
}

export function budgetOf (
  { budget, ownHooks, prepared }: Data,
  { duration, collectors, kind }: Pick<Profile, 'duration' | 'collectors' | 'kind'>
): string[] {
  if (budget === undefined) return []
  const hook = listOf(ownHooks).find(({ stage }) => stage === 'onSend')?.name
  const waited = isHijacked(collectors)
    ? 'until the application ended the hijacked reply'
    : openText(openWaits({ collectors }))
  const sentence = budgetSentence(budget as TimeBudget, duration, { hook: hook as string | undefined, waited })
  if (kind === 'start') return [`${sentence} Hindsight was loaded meanwhile.`]
  if (typeof prepared !== 'number') return [sentence]
  return [sentence, `Before that, Hindsight started the CPU profile in ${formatTime(prepared)}.`]
}

/** The lines of the promises that a request waits for, or has waited for when it was cut off, where they are traced. */
function openWaits (profile: Pick<Profile, 'collectors'>): Data[] {
  return listOf(dataOf(profile, 'waiting').for)
    .filter(({ kind, source }) => (kind === 'await' || kind === 'promise') && typeof source === 'string')
}

function openText (waits: readonly Data[]): string | undefined {
  if (waits.length === 0) return undefined
  const names = waits.slice(0, MAX_OPEN).map(({ kind, source }) =>
    `${kind === 'await' ? 'an await' : 'a promise'} (${shortFile(lineOf(String(source)))})`)
  return `waiting, while ${names.join(', ')} had not ended`
}

export function blocksOf ({ budget }: Data): TimeBudget['blocks'] {
  return (budget as TimeBudget | undefined)?.blocks ?? []
}

function longestBlock (data: Data): TimeBudget['blocks'][number] | undefined {
  return blocksOf(data).toSorted((a, b) => b.duration - a.duration)[0]
}

/** The shares of the time as one bar; the sentence has the same as text. */
function budgetBar ({ budget }: Data, profile: Profile): HtmlValue {
  const { work = [], open = [], javascript = 0, starved = 0, hindsight = 0, sending = 0, waiting = 0 } =
    (budget ?? {}) as Partial<TimeBudget>
  // Those of several lines are one share.
  const works = [...groupedBy(work, ({ many }) => many)].map(([name, all]) => {
    return { name, time: all.reduce((sum, { duration }) => sum + duration, 0), color: all[0]?.one }
  })
  let busy = [{ name: 'busy', time: javascript + starved, color: 'handler' }]
  if (isSplit({ javascript, starved })) {
    busy = [
      { name: 'JavaScript', time: javascript, color: 'handler' },
      { name: 'other processes', time: starved, color: 'log' }
    ]
  }
  const isNamed = open.length > 0 || openWaits(profile).length > 0
  const shares = [
    ...works,
    ...busy,
    { name: 'Hindsight', time: hindsight, color: 'own' },
    { name: 'sending', time: sending, color: 'serialization' },
    { name: isNamed ? 'waiting' : 'not recorded', time: waiting, color: 'collection' }
  ].filter(({ time }) => time > 0)
  const total = shares.reduce((sum, { time }) => sum + time, 0)
  const share = (time: number): string => `${(time / total * 100).toFixed(2)}%`
  let start = 0
  const bars = shares.map(({ time, color }) => {
    start += time
    return html`<rect class="bar-${color}" x="${share(start - time)}" width="${share(time)}" height="100%"/>`
  })
  const names = shares.map(({ name, color, time }) => html`<span><svg class="bar-${color}" viewBox="0 0 10 10">\
<rect width="10" height="10"/></svg> ${name} ${unbrokenUnits(formatTime(time))}</span>`)
  if (shares.length < 2) return null
  return html`<svg class="budget" aria-hidden="true">${bars}</svg><div class="legend">${names}</div>`
}

/** Whether the processor took so much of the time that its profile explains it. */
function isBusy (data: Data, { duration }: Profile): boolean {
  const { javascript = 0 } = (data.budget ?? {}) as Partial<TimeBudget>
  return blocksOf(data).length > 0 || javascript >= Math.max(MIN_BUSY, duration / 2)
}

/** Why and where the event loop was blocked. */
export function blockSentence (data: Data, profile: Profile): string | undefined {
  const longest = longestBlock(data)
  if (longest === undefined) return undefined
  let blocked = `The event loop was blocked for ${formatTime(longest.duration)} of CPU time`
  if ((data.budget as TimeBudget).isShared) blocked += ', by this or by other work'
  return `${[blocked, blockedLine(data, profile) ?? []].flat().join(': ')}.`
}

/** What blocked, if the CPU profile or the inspection has found it. */
function blockedLine (data: Data, { collectors: { cpu } }: Profile): string | undefined {
  const place = busiestPlace(cpu)
  if (place !== null) return `most of the time it ran ${place}`
  const [call] = longestBlock(data)?.calls ?? []
  if (call === undefined) return undefined
  const line = shortFile(lineOf(call.source))
  return `at one moment it ran ${call.function === '' ? line : `${call.function} (${line})`}`
}

/** How a client records the CPU profile of the request. */
function recordCommand ({ method, url }: Profile): string {
  if (method !== 'GET') return `For the line of code, send the request again with the header ${CPU_HEADER}: 1`
  return `For the line of code, record a CPU profile: curl -H '${CPU_HEADER}: 1' '${url.replaceAll("'", '%27')}'`
}

/** The hook or handler of the application that was open for at least half of the CPU time of the longest block. */
function placeOfBlock (data: Data, { events, route }: Profile): string | undefined {
  const block = longestBlock(data)
  if (block === undefined) return undefined
  const { start: begin, duration: cpu, end = begin + cpu } = block
  const covers = (start: unknown, duration: unknown): boolean => {
    const shared = Math.min(end, Number(start) + Number(duration)) - Math.max(begin, Number(start))
    // What is left of the block may be CPU time.
    return end - begin - shared <= cpu / 2
  }
  const hook = events.find(({ source, start, duration }) => source !== undefined && covers(start, duration))
  if (hook !== undefined) return `the ${hookTitle(hook)}, added at ${shortFile(hook.source ?? '')}`
  if (!covers(data.handlerStart, data.handler) || route?.handler === undefined) return undefined
  return `the handler at ${shortFile(route.handler)}`
}
