import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { RequestTrace, Services, WorkServices, WorkTrace } from '../recording/trace.js'
import type { Hint } from '../errors/hints.js'
import type { RefusedResponse, Slot } from '../recording/recording.js'
import type { EditorLink } from '../view/editor.js'
import type { Data, HtmlValue, SafeHtml } from '../view/text.js'
import type { Profile, ProfileSummary, UnfinishedProfile } from '../store/profile.js'
import type { Section, Values } from './section.js'

/** The services of an application, as `app.hindsight`. */
export type PublishedServices = FastifyInstance['hindsight']

/** The services that store profiles, also where no application runs. */
export type StoringServices = WorkServices & Pick<PublishedServices, 'parts' | 'profiler'>

/** The groups of the menu, in their order. */
export const GROUPS = {
  overview: 'Overview',
  request: 'Request',
  errors: 'Errors',
  logs: 'Logs',
  timeline: 'Timeline',
  queries: 'Queries',
  calls: 'Calls',
  cpu: 'CPU',
  hooks: 'Headers and hooks',
  environment: 'Environment',
  application: 'Application'
} as const

/** The data that a panel receives besides the profile. */
export interface PanelView {
  /** The query of the page's URL; a repeated field is a list. */
  query: Readonly<Record<string, unknown>>
  /** Makes links that open source in the editor; null if no editor is configured. */
  editor: EditorLink | null
  /** All parts: those of Hindsight and those of the application. */
  parts: readonly Part[]
  /** The path of the profiler's routes. */
  base?: string
  /** The value of the hidden field `form_token` of forms of the profiler. */
  formToken?: string
  /** Whether requests may be replayed, and plans of queries be shown: in debug mode. */
  debug?: boolean
  /** The request that caused this one; null: its profile is not stored. */
  parent?: ProfileSummary | null
  /** Requests that this one caused, newest first. */
  children?: readonly ProfileSummary[]
  /** Of a failure: its differences from the last success of its route, as markup. */
  differences?: HtmlValue
}

/** Something that has a place among others of its kind. */
interface Ordered {
  /** Smaller ones are first; default: 100. Those of Hindsight have 10 to 90. */
  order?: number
}

/** How the data of a part are shown. */
export interface CollectorPanel<T = any> {
  /** The text of the panel's menu entry; default: the name of the part. */
  label?: string
  /** Default: `application`. */
  group?: keyof typeof GROUPS
  /** The number beside the label; 0: the panel has no data. */
  count?: (data: T, profile: Profile) => number | undefined
  /** Whether the menu marks the panel as one with a problem, or the number of errors. */
  problem?: (data: T, profile: Profile) => boolean | number
  /** The number of warnings. */
  warnings?: (data: T, profile: Profile) => number
  /** Markup of the tag `html`; plain text is escaped. Default: the data as JSON. */
  render?: (data: T, profile: Profile, view: PanelView) => HtmlValue
}

/** The panel of a part of Hindsight. */
interface InternalPanel<T> extends CollectorPanel<T> {
  /** Whether every profile has the panel; otherwise only profiles with data of the part. */
  always?: boolean
}

/** One entry of the timeline, nested below the span, hook or handler that it began in. */
export interface TimelineEntry {
  name: string
  /** Milliseconds since the request arrived. */
  start: number
  /** Milliseconds; null: not ended. */
  duration: number | null
  failed?: boolean
  /** What equal entries have in common: they are one row. Default: the name. */
  group?: string
  /** The text of the details; default: the name. */
  detail?: string
  /** The line of the application that began it, `file:line`. */
  source?: string | null
  /** The URL of what shows more; default: the panel of the part. */
  link?: string
  /** A step of the request itself, and no work within one. */
  step?: 'listener' | 'hook' | 'handler' | 'serialization'
  /** Whether it is work for the profile or the page only: it is no candidate for the slowest part. */
  ofHindsight?: boolean
  /** The stage of a listener or hook, with the pass. */
  stage?: string
  /** The end of the class of the bar; default: the step, or `own`. */
  color?: string
  /** The kind of entries, as the filter shows it; default: the step, or the label of the part. */
  legend?: string
  /** The ids of a span of OpenTelemetry. */
  id?: unknown
  parentId?: unknown
  /** The number of the event of the hook that has started it. */
  hook?: number | null | undefined
}

/** One sentence without a full stop, with the line of the application; smaller orders are worse. */
export interface FoundProblem extends Ordered { text: string }

/** A fact of the overview, or a section of it. */
export interface OverviewTile extends Ordered {
  title: string
  /** Where a section is, such as a list; `top`: above both columns. Default: it is a fact, which takes one line. */
  column?: 'top' | 'main' | 'side'
  /** Markup of the tag `html`, or text; a tile without a value is left out. */
  value: HtmlValue
}

/** An item of the toolbar. */
export interface ToolbarItem extends Ordered {
  /** The name of the item for screen readers. */
  title: string
  /** The panel that it links to; default: that of the part. */
  panel?: string
  /** Markup of the tag `html`, or text; an item without it is left out. */
  head: HtmlValue
  className?: string
  /** The facts of the pop-up, by their names. */
  facts?: Readonly<Record<string, string | number>>
  /** Markup after the facts. */
  more?: HtmlValue
  /** Fields of `/_wdt/<token>.json`. Only for parts of Hindsight. */
  values?: Readonly<Record<string, unknown>>
}

/** Who wrote a value besides the code of the application: a client, a log, or another server. */
export type ValueSource = 'request' | 'log' | 'upstream'

/** A section of a profile as Markdown. */
export interface MarkdownSection extends Ordered {
  title: string
  /** Shown as a block of code. Lines for which there is no space are left out, the last ones first. */
  text?: string
  /** A number for each line of the text: where there is no space for all, those with the least number stay. */
  ranks?: readonly number[]
  /** Paragraphs of Markdown, in which values are escaped; left out as a whole, the last ones first. */
  blocks?: readonly string[]
}

/** A section of a comparison. */
export interface ComparedSection<T = any> {
  /** Default: the name and the label of the part. */
  name?: string
  label?: string
  /** A section with an order is in each comparison, before the others, which need data of the part. */
  order?: number
  /** The values that are compared; default: the fields of the data. */
  values?: (data: T, profile: Profile, other: Profile) => Values
  /** Compares in another way. */
  compare?: (section: Section, a: Profile, b: Profile) => void
}

/** Values of a failure that are compared with those of the last success of its route. */
export interface DifferenceGroup<T = any> extends Ordered {
  /** By their names; `other` is the profile to compare with. */
  values: (data: T, profile: Profile, other: Profile) => Values
  /** The text for a value that is missing, if that explains little; default: `absent`. */
  absent?: string
  /** Whether the number 2 and the text "2" are written in different ways. */
  isExact?: boolean
  /** Whether a value depends on the client and not on the failure: it is shown only where a message names it. */
  isOfClient?: (name: string, failure: Profile) => boolean
}

/** What a request spent time on: the name is the same in each request, without identifiers. */
export interface PartTime {
  name: string
  /** Milliseconds. */
  time: number
  count?: number
}

/** What may be searched for in a criterion that is a number. */
export const NUMBER_COMPARISON = /^[<>]?=?\d{1,9}$/

/** A criterion of a part of Hindsight. */
export interface Criterion<T = any> {
  valueOf: (data: T, profile: Profile) => unknown
  /** What may be searched for. */
  pattern: RegExp
  /** Completes the sentence `"…" is`. */
  problem: string
  /** The line of the command's help. */
  help: string
  /** The title of the column of the list that has the values; by default they are beside the URL. Null: not shown. */
  column?: string | null
}

/** A request, or other work, whose profile is built. */
export interface BuiltRequest {
  trace: WorkTrace
  /** 0: it is no request, or its response has not ended. */
  status: number
  /** The data of parts by their names. */
  collectors: Readonly<Record<string, unknown>>
}

/** What routes of the profiler use, for those of a part. Their paths begin with `base`. */
export interface ProfilerPages {
  base: string
  /** The options of a route, whose name is that of the route in the application. */
  optionsOf: (name: string) => RouteShorthandOptions
  /** The profile that the path names. Like the following functions, it throws where the answer is an error. */
  profileOf: (request: FastifyRequest) => Promise<Profile>
  /** Changes that profile in the store. */
  amend: (request: FastifyRequest, change: (profile: Profile) => Profile) => Promise<void>
  /** The fields of a form of these pages; another one is refused. */
  formOf: (request: FastifyRequest) => Promise<PanelView['query']>
  /** The value of the hidden field `form_token` of a form. */
  formTokenOf: (request: FastifyRequest) => Promise<string>
  formatOf: (request: FastifyRequest, reply: FastifyReply) => 'html' | 'json' | 'markdown'
  sendPage: (request: FastifyRequest, reply: FastifyReply, title: string, content: SafeHtml) => FastifyReply
  /** Sends a text as a file that the browser saves. */
  sendFile: (reply: FastifyReply, name: string, type: string, text: string) => FastifyReply
  /** Makes the error for a field of a form, with the end of the sentence about it. */
  badField: (name: string, problem: string) => Error
  /** Makes the error for data that do not exist. */
  notAvailable: (message: string) => Error
}

/**
 * One concern of a profile: what is recorded, and how it is shown. Each ability but the name is optional. `T` is the
 * type of its data, which functions receive as masked JSON data, with the profile. A function that throws affects no
 * other part. A part of Hindsight has no `collect`: its data are an object, empty where nothing was recorded. It keeps
 * `K` in the recording of a request.
 */
export interface Part<T = any, K = any> extends Slot<K> {
  /** Whether it is about requests and responses: profiles of other work are without it. */
  ofRequests?: true
  /** Who wrote the values of its data, which assistants must not follow; default: `CODE_OR_INPUT`. */
  from?: ValueSource
  /** Subscribes to events of the process for an application; returns the function that ends it. */
  start?: (app: { hindsight: Pick<Services, 'debug' | 'settings'> }) => () => void
  /** Called when a request has arrived, in debug mode. Its first hook waits for a promise. */
  arrive?: (trace: RequestTrace) => undefined | Promise<void>
  /** Called when the recording of a request or of other work begins: at its beginning, or when it has failed. */
  begin?: (trace: WorkTrace) => void
  /** Called when the route of a request is known, until the part keeps something. */
  route?: (trace: RequestTrace) => void
  /** Called when a request was read, before its handler or its response, until the part keeps something. */
  receive?: (trace: RequestTrace) => void
  /** Called with the error of a request; returns why the response was refused, where it was. */
  fail?: (trace: RequestTrace, error: unknown) => RefusedResponse | undefined
  /** Called with the payload of each response; `content` is it without the toolbar. */
  respond?: (trace: RequestTrace, payload: unknown, content?: unknown) => void
  /** Called when the response, or other work, has ended; `error` has cut it off. */
  end?: (trace: WorkTrace, parts: readonly Part[], error?: unknown) => void
  /** The data of a request, or of other work, that has not ended, and sentences about it. */
  pending?: (trace: WorkTrace, parts: readonly Part[]) => { data: object, sentences: readonly string[] }
  /** Returns JSON data, which are masked. A promise is an error: await data in the handler or a hook. */
  collect?: (request: FastifyRequest, reply: FastifyReply) => T
  /** The data with those of the time after the response; default: only the latter. */
  complete?: (data: T, late: T) => T
  /** Called at the start; returns what makes the data that all profiles of the application have. */
  ofApplication?: (services: WorkServices, options: object) => () => T
  /** The data that are known when the profile is built; undefined: none. */
  build?: (built: BuiltRequest) => unknown
  /** Called once, when the profile of a request was made. */
  made?: (data: T, profile: Profile, services: StoringServices) => void
  /** The data with what the query of a page asks for, besides what is stored; undefined: nothing. */
  expand?: (data: T, query: PanelView['query'], services: PublishedServices) => Promise<T | undefined>
  panel?: InternalPanel<T>
  /** What is wrong, as lists of profiles show it; default: how many errors and warnings its panel has. */
  issue?: (data: T, profile: Profile) => string | undefined
  /** Entries of the timeline. */
  timeline?: (data: T, profile: Profile) => readonly TimelineEntry[]
  /** Facts of the overview. */
  overview?: (data: T, profile: Profile, view: PanelView) => readonly OverviewTile[]
  /** What is wrong with a request that need not have failed. The worst one is its first sentence. */
  findings?: (data: T, profile: Profile) => readonly FoundProblem[]
  /** What the application may not expect of a response: the first sentence of a success without a finding. */
  fact?: (data: T, profile: Profile) => string | undefined
  /** A sentence that is never the first one. */
  note?: (data: T, profile: Profile) => string | undefined
  /** A sentence about the request, after those about its response. */
  sentence?: (data: T, profile: UnfinishedProfile) => string | undefined
  /** Sentences above the panels, and a form below them. */
  notice?: (data: T, profile: Profile) => {
    title: string
    sentences: readonly string[]
    form?: false | ((view: Pick<PanelView, 'base' | 'formToken'>) => HtmlValue)
  }
  toolbar?: (data: T, profile: UnfinishedProfile, editor: EditorLink | null) => ToolbarItem
  markdown?: (data: T, profile: Profile, parts: readonly Part[]) => readonly MarkdownSection[]
  /** Hints of the diagnostic page and of the Markdown. */
  hints?: (data: T, profile: UnfinishedProfile) => ReadonlyArray<Hint & Ordered>
  /** Default: one section with the fields of the data; an empty list: none. */
  comparison?: ReadonlyArray<ComparedSection<T>>
  /** What may explain a failure. */
  differences?: ReadonlyArray<DifferenceGroup<T>>
  /** What may explain that a request is slow, with the names by which it is compared with another one. */
  times?: (data: T, profile: Profile, other?: Profile) => readonly PartTime[]
  /** Criteria of the search: values of a profile by the name of the criterion, which the list shows, too. */
  search?: Readonly<Record<string, Criterion<T>['valueOf'] | Criterion<T>>>
  /** Adds routes of the profiler, on an instance of their own. */
  routes?: (app: FastifyInstance, pages: ProfilerPages) => void
  /** Markup above the list of the newest profiles; `waiting` requests have not ended. */
  aboveList?: (view: Pick<PanelView, 'base' | 'formToken'>, waiting: number) => HtmlValue
  /** A box of the form of a replay: with it the replay has these headers, and the panel is shown. */
  replay?: { label: string, headers: Readonly<Record<string, string>> }
  /** Styles of the pages and of the toolbar. */
  style?: string
  toolbarStyle?: string
}

/**
 * What only parts of Hindsight have: what records in a slot, whose data are masked by the part, and what all
 * applications of a process share.
 */
export type InternalAbility = 'from' | 'ofRequests' | 'data' | 'arrive' | 'begin' | 'route' | 'receive' | 'fail' |
  'respond' | 'end' | 'pending' | 'complete' | 'ofApplication' | 'build' | 'findings' | 'fact' | 'note' | 'command' |
  'style' | 'toolbarStyle'

/** A part of the profile that an application adds. `T` is the type that `collect` returns. */
export interface Collector<T = any> extends Omit<Part<T>, InternalAbility> {
  collect: (request: FastifyRequest, reply: FastifyReply) => T
  panel?: CollectorPanel<T>
  search?: Readonly<Record<string, Criterion<T>['valueOf']>>
}

/**
 * Defines a part of Hindsight, which is also its slot: `recording.set(part, kept)` and `recording.get(part)`. Where the
 * code that records is in a file of its own, that file defines the part, and `index.ts` adds what shows the data.
 */
export function definePart<K, T = Data> (part: Part<T, K>): Part<T, K> {
  return part
}
