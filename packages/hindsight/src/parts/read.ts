import { attemptCall, synchronousResult } from '../call.js'
import type { Hint } from '../errors/hints.js'
import { messageOf } from '../errors/thrown-value.js'
import { isFailure, type Profile, type UnfinishedProfile } from '../store/profile.js'
import { failureNote, fieldsContent, jsonBlock } from '../view/components.js'
import { cutText, formatCount, html, isObject, visibleLine, type Data, type SafeHtml } from '../view/text.js'
import type {
  CollectorPanel, GROUPS, MarkdownSection, PanelView, Part, PublishedServices, TimelineEntry
} from './part.js'

export { isObject, type Data }

/** A profile, stored or unfinished. */
type Recorded = Pick<Profile, 'collectors' | 'kind'>

const DEFAULT_ORDER = 100
/** Texts of one hint. */
const MAX_TEXTS = 5
/** Characters. */
const MAX_TEXT = 300

/** The data of a collector as an object; empty if there are none, or they are no object. */
export function dataOf ({ collectors }: Recorded, collector: string): Data {
  const data = collectors[collector]
  return isObject(data) ? data : {}
}

/** A field of the query of a page, the last one of its name; empty if there is none. */
export function queryField ({ query }: Pick<PanelView, 'query'>, name: string): string {
  return String([query[name]].flat().at(-1) ?? '')
}

/** The error of a collector that failed. */
export function failureOf (profile: Recorded, collector: string): string | undefined {
  const data = profile.collectors[collector]
  const isFailure = isObject(data) && typeof data.error === 'string' && Object.keys(data).length === 1
  return isFailure ? data.error as string : undefined
}

/** The objects of a list; empty if the value is no list. A store may contain anything. */
export function listOf (value: unknown): Data[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** The items of a list by their keys, in the order of the first item of each. */
export function groupedBy<T, K> (items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key) ?? []
    group.push(item)
    groups.set(key, group)
  }
  return groups
}

/**
 * A list of timed entries with later ones. An entry that has ended takes the place of the one without a duration that
 * began at the same time. `places`: the positions of the later entries.
 */
export function withLate (list: readonly Data[], late: readonly Data[]): { all: Data[], places: number[] } {
  const all = [...list]
  const places = late.map((entry) => {
    const pending = all.findIndex(({ start, duration }) => duration === null && start === entry.start)
    const place = pending === -1 ? all.length : pending
    all[place] = entry
    return place
  })
  return { all, places }
}

/** `file:line` of a place, which may have a column. */
export function lineOf (source: string): string {
  return source.replace(/(:\d+):\d+$/, '$1')
}

export function numberOf (value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

/** The URL of a panel of the same profile, relative to its page; `fragment` is the id of an element of the panel. */
export function addressOf (panel: string, fragment = ''): string {
  return `?${new URLSearchParams({ panel })}${fragment === '' ? '' : `#${fragment}`}`
}

/** A hint that lists texts; none without a text. */
export function listHint (title: string, texts: readonly string[], order: number, separator = '; '): Hint[] {
  if (texts.length === 0) return []
  const text = texts.slice(0, MAX_TEXTS).map((text) => cutText(text, MAX_TEXT)).join(separator)
  return [{ title, text, order } as Hint]
}

/** A section of Markdown; none without a line. */
export function linesSection (order: number, title: string, lines: readonly string[]): MarkdownSection[] {
  if (lines.length === 0) return []
  return [{ order, title, text: lines.join('\n') }]
}

/** The parts of a URL; a parameter with several values is a list. */
export function splitUrl (url: string): { origin: string | undefined, path: string, query?: object } {
  const [, origin, path = '', search] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?/i.exec(url) ?? []
  if (search === undefined) return { origin, path }
  const parameters = new URLSearchParams(search)
  const query = [...new Set(parameters.keys())].map((name) => {
    const values = parameters.getAll(name)
    return [name, values.length === 1 ? values[0] : values] as const
  })
  return { origin, path, query: Object.fromEntries(query) }
}

/** The mark of texts that the code of the application has made: they may quote a client, a log or another server. */
export const CODE_OR_INPUT = 'code or input'

/** A part whose panel is a table of its fields; `title` is that of the table. */
export function fieldsPart (
  name: string, label: string, group: keyof typeof GROUPS, title: string, others: Omit<Part<Data>, 'name'> = {}
): Part<Data> {
  return { name, ...others, panel: { label, group, render: (data) => fieldsContent(title, data), ...others.panel } }
}

/** The data that the functions of a part receive. */
export function dataFor ({ name, collect }: Part, profile: Recorded): any {
  return collect === undefined ? dataOf(profile, name) : profile.collectors[name]
}

/** The hints of all parts for a profile, stored or unfinished. */
export function hintsOf (parts: readonly Part[], profile: UnfinishedProfile): Hint[] {
  return resultsOf(parts, profile, (part, data) => {
    const hints = part.hints?.(data, profile)
    if (part.from === undefined) return hints
    return hints?.map((hint) => ({ ...hint, from: part.from as string }))
  }).map(({ order: _, ...hint }) => ({ ...hint, title: String(hint.title), text: String(hint.text) }))
}

/** What a function of a part returns for its data, as a list; empty if it throws, or a collector has no data. */
export function valuesOf<P extends Recorded> (
  part: Part, profile: P, read: (data: any, profile: P) => unknown
): unknown[] {
  const { name, collect, ofRequests } = part
  if (ofRequests === true && profile.kind !== undefined) return []
  // Parts of Hindsight read other fields, too.
  const hasData = Object.hasOwn(profile.collectors, name) && failureOf(profile, name) === undefined
  if (collect !== undefined && !hasData) return []
  const found = attemptCall(() => read(dataFor(part, profile), profile))
  const values: unknown[] = Array.isArray(found) ? found : [found]
  return values.filter((value) => value !== undefined && value !== null)
}

/** The objects that a function returns for each part and its data, in their order. */
export function resultsOf<R extends object> (
  parts: readonly Part[], profile: Recorded, read: (part: Part, data: any) => R | readonly R[] | undefined
): R[] {
  return parts.flatMap((part) => valuesOf(part, profile, (data) => read(part, data)).filter(isObject) as R[])
    .sort(byOrder)
}

/** The sentences of the parts about a request, one each. */
export function sentencesOf (parts: readonly Part[], profile: UnfinishedProfile): string[] {
  return parts.flatMap((part) => valuesOf(part, profile, (data) => part.sentence?.(data, profile))).map(shownSentence)
}

/** What the application may not expect of a response, one sentence of each part. */
export function unexpectedIn (parts: readonly Part[], profile: Profile): string[] {
  return parts.flatMap((part) => valuesOf(part, profile, (data) => part.fact?.(data, profile))).map(shownSentence)
}

/** The heading of what came after the response, or after the end of a job. */
export function afterTitle ({ kind }: Pick<Profile, 'kind'>): string {
  return kind === undefined ? 'After the response' : 'After the end'
}

/** Sentences that are never the first one. */
export function notesIn (parts: readonly Part[], profile: Profile): string[] {
  return parts.flatMap((part) => valuesOf(part, profile, (data) => part.note?.(data, profile))).map(shownSentence)
}

function shownSentence (sentence: unknown): string {
  return visibleLine(cutText(String(sentence), MAX_TEXT))
}

/** What is wrong with a request, the worst first; equal sentences are one. */
function findingsIn (parts: readonly Part[], profile: Profile): string[] {
  const found = resultsOf(parts, profile, (part, data) => part.findings?.(data, profile))
  return [...new Set(found.map(({ text }) => visibleLine(cutText(String(text), MAX_TEXT))))]
}

/** The first sentence, with the number of the others. */
export function firstOf (sentences: readonly string[]): string | undefined {
  const [first] = sentences
  if (first === undefined || sentences.length === 1) return first
  return `${first} (and ${formatCount(sentences.length - 1, 'more finding')})`
}

/** What is wrong with a request that has not failed; the first sentence about a failure is why it failed. */
export function findingOf (parts: readonly Part[], profile: Profile): string | undefined {
  const finding = isFailure(profile) ? undefined : firstOf(findingsIn(parts, profile))
  return finding === undefined ? undefined : `${finding}.`
}

export function byOrder (a: object, b: object): number {
  const [first = 0, second = 0] = [a, b].map((one: { order?: number }) => Number(one.order ?? DEFAULT_ORDER))
  return first - second
}

/** The parts that have a panel for a profile. Data without a part, of another application, are shown as JSON. */
export function panelsOf (parts: readonly Part[], { collectors, kind }: Recorded): Part[] {
  const others = Object.keys(collectors).filter((name) => !parts.some((part) => part.name === name))
  return [
    ...parts.filter(({ name, collect, ofRequests, panel }) => {
      if (collect !== undefined) return Object.hasOwn(collectors, name)
      if (panel === undefined || (ofRequests === true && kind !== undefined)) return false
      return panel.always === true || collectors[name] !== undefined
    }),
    ...others.map((name): Part => ({ name }))
  ]
}

/** The text of the menu entry of a part. */
export function labelOf ({ name, panel: { label } = {} }: Part): string {
  return label ?? name.charAt(0).toUpperCase() + name.slice(1)
}

/** A profile with what its parts add for the query of a page. */
export async function expandProfile (
  profile: Profile, query: PanelView['query'], services: PublishedServices
): Promise<Profile> {
  const collectors = { ...profile.collectors }
  for (const part of services.parts) {
    try {
      const data: unknown = await part.expand?.(dataFor(part, profile), query, services)
      if (data !== undefined) collectors[part.name] = data
    } catch {
      // The page shows what is stored.
    }
  }
  return { ...profile, collectors }
}

/** The number of problems that a panel shows. */
export function problemsOf (part: Part, profile: Profile): { errors: number, warnings: number } {
  if (failureOf(profile, part.name) !== undefined) return { errors: 1, warnings: 0 }
  const { problem, warnings } = part.panel ?? {}
  const numberFrom = (read: CollectorPanel['problem']): number =>
    Number(valuesOf(part, profile, (data) => read?.(data, profile))[0]) || 0
  return { errors: numberFrom(problem), warnings: numberFrom(warnings) }
}

/** The number of entries of a panel; 0: it has no data; undefined: unknown. */
export function countOf (part: Part, profile: Profile): number | undefined {
  return valuesOf(part, profile, (data) => part.panel?.count?.(data, profile))[0] as number | undefined
}

/**
 * The markup of a panel. If its collector failed, it shows that error. If `render` throws, it shows the message, and
 * the other panels are not affected.
 */
export function renderPanel (part: Part, profile: Profile, view: PanelView): SafeHtml {
  const failure = failureOf(profile, part.name)
  if (failure !== undefined) return failureNote('collector', failure)
  const render = part.panel?.render ?? (() => jsonBlock(profile.collectors[part.name]))
  return attemptCall(() => html`${synchronousResult(render(dataFor(part, profile), profile, view))}`, (error) =>
    failureNote('panel', messageOf(error)))
}

/** An entry with what it does not give itself. */
export type Span = TimelineEntry & Required<Pick<TimelineEntry, 'link' | 'color' | 'legend' | 'failed' | 'detail'>>

/** The entries of all parts, ordered by their start. */
export function timelineOf (parts: readonly Part[], profile: Profile): Span[] {
  return parts.flatMap((part) => resultsOf([part], profile, (_, data) => part.timeline?.(data, profile))
    .map((entry): Span => {
      const { name: detail, step } = entry
      const link = addressOf(part.name)
      return { link, color: step ?? 'own', legend: step ?? labelOf(part), failed: false, detail, ...entry }
    }))
    .filter(({ start }) => Number.isFinite(start))
    .sort((a, b) => a.start - b.start || Number(b.duration) - Number(a.duration))
}

/** The time before `limit` in which at least one of these ran, in milliseconds; what has not ended counts as 0. */
export function timeOf (all: ReadonlyArray<{ start: number, duration: number | null }>, limit = Infinity): number {
  let [total, until] = [0, -Infinity]
  for (const { start, duration } of [...all].sort((a, b) => a.start - b.start)) {
    const end = Math.min(limit, start + (duration ?? 0))
    total += Math.max(0, end - Math.max(start, until))
    until = Math.max(until, end)
  }
  return total
}
