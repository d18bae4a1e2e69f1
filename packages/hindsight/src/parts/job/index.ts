import { declaredPlace } from '../../errors/declared-place.js'
import { JOB_KINDS } from '../../recording/recording.js'
import { JobTrace } from '../../recording/trace.js'
import type { Profile } from '../../store/profile.js'
import { formatTime, jsonBlock, pairsTable, placeElement, rowsSection, titledSection } from '../../view/components.js'
import { cutText, html, presentItems, textOrJson, visibleJson, type Data, type HtmlValue } from '../../view/text.js'
import { definePart } from '../part.js'
import { listOf } from '../read.js'
import { flattenPaths } from '../section.js'

/** Characters of a value in the overview. */
const MAX_EXCERPT = 500
const MAX_JSON = 10_000
/** Milliseconds from which a plugin is slow that took half of the start, without those that it has registered. */
const MIN_SLOW = 500

/** What a job has worked on, and what it has returned. */
export const job = definePart<JobTrace>({
  name: 'job',
  begin (trace) {
    if (trace instanceof JobTrace) trace.collect(job, trace)
  },
  data: ({ facts: { kind }, input, result, start, calledAt, mask }) => ({
    ...input !== undefined && { input: mask.value(input) },
    ...result !== undefined && { result: mask.value(result) },
    ...start,
    // A command and a start are begun by the preload.
    ...(kind === 'job' || kind === 'schedule') && { source: declaredPlace(calledAt)?.source }
  }),
  panel: {
    label: 'Job',
    group: 'request',
    render: (data, profile, { editor }) => {
      const { source } = data
      const place = typeof source === 'string' && html`<p class="note">Begun by ${placeElement(source, editor)}</p>`
      return [
        place,
        pairsTable('Job', factsOf(profile)),
        valueSection('Input', data.input),
        valueSection('Result', data.result),
        data.plugins !== undefined && rowsSection('Plugins', { name: 'Plugin', duration: 'ms' }, listOf(data.plugins))
      ]
    }
  },
  overview: ({ input, result }, profile) => {
    const { Kind: _, Name: __, ...facts } = factsOf(profile)
    return [
      ...Object.entries(facts).map(([title, value]) => ({ order: 1, title, value })),
      { order: 50, title: 'Input', column: 'side', value: excerptOf(input) },
      { order: 51, title: 'Result', column: 'side', value: excerptOf(result) }
    ]
  },
  timeline: ({ steps }) => listOf(steps).map(({ name, start, duration }) =>
    ({ name: String(name), start: Number(start), duration: Number(duration), color: 'listener', legend: 'start' })),
  findings: ({ plugins }, { duration }) => {
    const [slowest] = pluginTimes(plugins).sort((a, b) => b.alone - a.alone)
    if (slowest === undefined || slowest.alone < Math.max(MIN_SLOW, duration / 2)) return []
    const { name, alone, whole } = slowest
    const text = `The plugin ${name} took ${formatTime(alone)} of the start`
    if (alone < whole) return [{ order: 5, text: `${text}, without the plugins in it` }]
    // It is the most of the start.
    return [{ order: 5, text }]
  },
  markdown: (data, profile) => {
    if (profile.kind === undefined) return []
    const lines = Object.entries(factsOf(profile)).map(([name, value]) => `${name}: ${value}`)
    for (const name of ['input', 'result']) {
      if (data[name] !== undefined) lines.push(`${name}: ${cutText(textOrJson(data[name]), MAX_JSON)}`)
    }
    for (const { name, duration } of listOf(data.plugins)) {
      lines.push(`plugin ${String(name)}: ${formatTime(duration)}`)
    }
    return [{ order: 40, title: 'Job', text: lines.join('\n') }]
  },
  comparison: [{ order: 40, label: 'Job', values: ({ input, result }, { attempt }) => ({ input, result, attempt }) }],
  differences: [{ order: 30, isExact: true, values: ({ input }) => flattenPaths(input, 'input') }],
  search: {
    kind: (_, { kind }) => kind,
    outcome: {
      valueOf: (_, { outcome }) => outcome,
      pattern: /^(?:done|failed)$/,
      problem: 'neither done nor failed',
      help: 'of a job: done or failed',
      column: null
    },
    job: {
      valueOf: (_, { kind, name, id }) => kind === undefined || id === undefined ? undefined : `${name} ${id}`,
      pattern: /./,
      problem: 'empty',
      help: 'name of a job, and its id after a blank',
      column: null
    },
    attempt: (_, { attempt = 1 }) => attempt > 1 ? attempt : undefined,
    waited: (_, { queued }) => queued === undefined ? undefined : formatTime(queued)
  }
})

/** The time of each plugin, and its time `alone`: without the plugins in it, whose names have one blank more. */
function pluginTimes (plugins: unknown): Array<{ name: string, whole: number, alone: number }> {
  const around: Array<{ alone: number }> = []
  return listOf(plugins).map(({ name, duration }) => {
    const trimmed = String(name).trimStart()
    const depth = String(name).length - trimmed.length
    const plugin = { name: trimmed, whole: Number(duration), alone: Number(duration) }
    const parent = around[depth - 1]
    if (parent !== undefined) parent.alone -= plugin.whole
    around[depth] = plugin
    return plugin
  })
}

/** The kinds of jobs in words. */
const WORDS: Readonly<Record<typeof JOB_KINDS[number], string>> =
  { job: 'job', schedule: 'scheduled task', command: 'command', start: 'start of an application' }

function factsOf ({ kind = 'job', name = '', id, attempt, queued }: Profile): Record<string, string> {
  return Object.fromEntries(presentItems<[string, string]>([
    ['Kind', WORDS[kind]],
    ['Name', name],
    id !== undefined && ['Id', id],
    attempt !== undefined && ['Attempt', String(attempt)],
    queued !== undefined && ['Waited in the queue', formatTime(queued)]
  ]))
}

function valueSection (title: string, value: unknown): HtmlValue {
  return value !== undefined && titledSection(title, jsonBlock(value))
}

function excerptOf (value: Data[string]): HtmlValue {
  return value !== undefined && html`<pre class="data">${cutText(visibleJson(value, 1), MAX_EXCERPT)}</pre>`
}
