import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Profile } from '../../store/profile.js'
import { postForm } from '../../view/components.js'
import { html, presentItems, unbrokenUnits, type SafeHtml } from '../../view/text.js'
import type { PanelView, Part, ProfilerPages } from '../part.js'
import { linesSection, listOf, type Data } from '../read.js'
import { waited, waitingSentences, type Waiting } from './collector.js'
import { watchResources } from './resources.js'
import { isTracing, traceWaits } from './trace.js'

/** What a request waits for that has not ended, or waited for until its connection was closed. */
export const waiting: Part<Data> = {
  ...waited,
  start ({ hindsight }) {
    if (hindsight.debug) watchResources(hindsight, true)
    if (hindsight.settings.traceWaits === true) traceWaits(hindsight, true)
    return () => {
      watchResources(hindsight, false)
      traceWaits(hindsight, false)
    }
  },
  notice (data, profile) {
    const isWaiting = profile.status === 0 && profile.outcome !== 'failed'
    const isUntraced = isWaiting && data.traced === false
    return {
      title: isWaiting ? 'What does it wait for?' : 'What did it wait for?',
      sentences: presentItems([...sentences(data, profile), isUntraced && traceSentence(data, profile)]),
      form: isUntraced && traceForm
    }
  },
  markdown: (data, profile) => linesSection(5, 'Waiting', sentences(data, profile)),
  comparison: [],
  routes: addRoutes,
  aboveList: (view, waiting) => (waiting > 0 || isTracing()) && traceForm(view)
}

/** Adds the list of the requests of this process that have not ended, and the switch of tracing. */
function addRoutes (app: FastifyInstance, { base, optionsOf, formOf, formTokenOf, formatOf, badField }: ProfilerPages) {
  const { hindsight } = app
  const viewOf = async (request: FastifyRequest): Promise<object> =>
    ({ waiting: hindsight.recorder?.waiting() ?? [], tracing: isTracing(), formToken: await formTokenOf(request) })
  app.get('/waiting.json', optionsOf('_profiler_waiting'), viewOf)
  app.post('/waiting', optionsOf('_profiler_trace_waits'), async (request, reply) => {
    const { trace } = await formOf(request)
    if (trace !== '1' && trace !== '0') throw badField('trace', 'it is neither 1 nor 0')
    traceWaits(hindsight, trace === '1')
    if (formatOf(request, reply) === 'json') return await viewOf(request)
    return reply.redirect(`${base}/`, 303)
  })
}

function sentences (data: Data, { duration }: Profile): string[] {
  if (Object.keys(data).length === 0) return []
  return waitingSentences(data as unknown as Waiting, duration)
}

/** How the line is found at which a request or a job waits that was not traced. */
function traceSentence (data: Data, { kind }: Profile): string {
  const again = kind === undefined ? 'send it again' : 'run it again'
  if (isTracing()) return `New requests and jobs are traced: for the line at which it waits, ${again}.`
  const what = listOf(data.for).length > 0 ? 'If it waits for something else' : 'For the line at which it waits'
  return `${what}, press Trace new requests, and ${again}.`
}

/** The form that begins or ends to trace what later requests and jobs wait for. */
function traceForm ({ base = '', formToken = '' }: Pick<PanelView, 'base' | 'formToken'>): SafeHtml {
  const [value, text, effect] = isTracing()
    ? ['0', 'Stop tracing', 'Timers and promises of new requests and jobs are traced.']
    : ['1', 'Trace new requests', 'Records the timers and promises that new requests wait for, in about 0.2 ms each.']
  return postForm(`${base}/waiting`, formToken, html`<button type="submit" name="trace" value="${value}">${text}\
</button> <span class="note">${unbrokenUnits(effect)}</span>`)
}
