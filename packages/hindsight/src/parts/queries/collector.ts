import { performance, roundTime } from '../../clock.js'
import { declaredPlace } from '../../errors/declared-place.js'
import { positionOf, shortFile, stackFrames } from '../../errors/stack-frame.js'
import {
  currentContext, onWorkEnd, recordingIn, requestContext, type ContextRecording, type RequestTrace,
  type WorkServices
} from '../../recording/trace.js'
import { MAX_SECRETS, maskedTexts } from '../../mask/known-secrets.js'
import { cachedFunction, cachedByObject } from '../../call.js'
import type { Recording } from '../../recording/recording.js'
import { QUERY_CHANNEL } from '../../queries/channel.js'
import { addFrames, type Query } from '../../queries/query.js'
import type { WorkKind } from '../../recording/work-log.js'
import { cutText } from '../../view/text.js'
import { watchChannels } from '../collect.js'
import { definePart } from '../part.js'
import { timeOf } from '../read.js'
import { clientSubscribers } from './channels.js'
import { findingsOf } from './findings.js'
import { queryGroups, type Further } from './groups.js'
import { errorOf, queryReader, type ReadQuery } from './mask-query.js'
import { keepRunners } from './plan.js'
import { queryOfSpan } from './query-spans.js'
import { MAX_STATEMENT, type RecordedQuery } from './recorded-query.js'
import { copyOfParameters, identityOf, type Traced } from './trace.js'
import { transactionFindings } from './transactions.js'

/** Queries of a request that are recorded one by one; further ones are counted by their shapes and lines. */
const MAX_QUERIES = 500
/** Milliseconds from which a query is slow. */
const SLOW_QUERY = 100
/** Shapes and lines of further queries; the others are counted together. */
const MAX_GROUPS = 100

/** The queries of one request. */
interface QueryLog {
  services: WorkServices
  count: number
  queries: Query[]
  /** The queries as they are shown, once they were read. */
  shown: WeakMap<Query, ReadQuery>
  read: ReturnType<typeof queryReader>
  /** What is masked in those that were read. */
  secrets: readonly string[]
  /** What sends queries without a line while the handler runs; undefined: that may be another function, too. */
  handler: () => string | undefined
  /** By system, shape and line: queries beyond `MAX_QUERIES`. */
  further: Map<string, Further>
}

/** The first frames are those of the channel and of the client: to search 6 and then 20 takes twice as long. */
const CHANNEL_FRAMES = [20, 60]

/** Identifiers are hidden with the secrets of their statement. In other texts they stay. */
const SHORT_NUMBER = /^\d{1,5}$/

const QUERIES: WorkKind = { one: 'query', many: 'queries' }

const { subscribers, stores } = clientSubscribers((query) => {
  record(query)
  addFrames(query, CHANNEL_FRAMES)
})

const watch = watchChannels([[QUERY_CHANNEL, record], ...subscribers], stores)

/** Records queries that are sent in the asynchronous context of a request. */
export const queryLog = definePart<QueryLog>({
  name: 'queries',
  // Clients publish nothing, and no frame is captured, where nothing is subscribed.
  start: ({ hindsight: { settings } }) => settings.queries === false ? () => {} : watch(),
  data (log, recording) {
    const { token } = recording
    if (log.services.debug && token !== undefined) keepRunners(token, log.queries.map(({ run }) => run))
    return recordedQueries(log, recording)
  }
})

function record (query: Query): void {
  const context = currentContext()
  // Another copy of this package may have set it.
  const { enter = Reflect.apply } = query
  query.enter = (callback, self, results) => requestContext.run(context, enter, callback, self, results)
  const current = recordingIn(context)
  if (current?.recording.isRecording !== true || current.services.settings.queries === false) return
  if (query.outer !== undefined && isPart(query, query.outer)) return complete(query.outer, query)
  query.hook = context?.hook
  add(query, current)
  const { ended } = query
  const end = onWorkEnd(context, current.recording, (later) => add(query, later))
  query.ended = () => {
    ended?.(query)
    end()
  }
}

/** Whether a query in the context of one of an ORM is a part of it: of MongoDB, only a command to its collection. */
function isPart (query: Query, outer: Query): boolean {
  const collectionOf = ({ statement }: Query): string => statement.replace(/\.[^.]*$/, '')
  return outer.system !== 'mongodb' || collectionOf(outer) === collectionOf(query)
}

/** Completes a query with what only its driver publishes. */
function complete (outer: Query, part: Query): void {
  if (outer.isPartial === true) {
    Object.assign(outer, { parameters: copyOfParameters(part.parameters), isPartial: false })
  }
  const { ended } = part
  part.ended = () => {
    ended?.(part)
    for (const name of ['wait', 'rows', 'run'] as const) {
      if (outer[name] === undefined && part[name] !== undefined) Object.assign(outer, { [name]: part[name] })
    }
  }
}

function add (query: Query, { recording, services }: ContextRecording): void {
  const log = recording.get(queryLog) ?? openLog(recording, services, currentContext()?.request)
  const { queries, further } = log
  log.count++
  recording.work?.begin(QUERIES, query)
  query.frames ??= null
  // The parameters may be changed when the query was sent.
  query.parameters = copyOfParameters(query.parameters)
  if (queries.length < MAX_QUERIES) {
    queries.push(query)
    return
  }
  query.ended = ({ system, startedAt, endedAt = startedAt, error, frames }) => {
    const read = error === undefined ? readOf(log, query) : shownOf(log, query)
    const source = sourceOf(frames)
    const place = `${system} ${read.shape} ${source}`
    const isKnown = further.size < MAX_GROUPS || further.has(place)
    const key = isKnown ? place : system
    const { statement, shape } = isKnown ? read : { statement: '…', shape: '…' }
    const group = further.get(key) ?? { system, shape, statement, source, count: 0, failed: 0, duration: 0 }
    further.set(key, group)
    group.count++
    group.duration += endedAt - startedAt
    if (error !== undefined) group.failed++
  }
}

/** A handler in words. Hooks of its route and what a framework calls cannot be separated from it. */
function handlerText ({ request, declaredRoute, recording }: RequestTrace): string | undefined {
  if (recording.controller !== null || declaredRoute?.hooks.includes('preHandler') !== false) return undefined
  const { declaredAt } = declaredRoute
  const place = declaredAt && declaredPlace(declaredAt)
  const text = `the handler of ${request.method} ${request.routeOptions.url}`
  return place == null ? text : `${text} (${shortFile(place.source)})`
}

function openLog (recording: Recording, services: WorkServices, trace: RequestTrace | undefined): QueryLog {
  const log = recording.set(queryLog, {
    services,
    count: 0,
    queries: [],
    shown: new WeakMap(),
    read: readerOf(services.mask),
    secrets: [],
    handler: () => trace === undefined ? undefined : handlerText(trace),
    further: new Map()
  })
  recording.secretTexts = () => {
    for (const query of log.queries) shownOf(log, query)
    return log.secrets
  }
  recording.spanOwner = () => queryOfSpan(log.queries)
  return log
}

function readOf ({ read }: QueryLog, { system, statement, parameters }: Query): ReadQuery {
  return read(system, cutText(statement, MAX_STATEMENT), parameters)
}

/** A query as it is shown. What is masked in it is kept for other texts. */
function shownOf (log: QueryLog, query: Query): ReadQuery {
  const known = log.shown.get(query)
  if (known !== undefined) return known
  const shown = readOf(log, query)
  log.shown.set(query, shown)
  const statement = cutText(query.statement, MAX_STATEMENT)
  const texts = [...maskedTexts(statement, shown.statement), ...maskedTexts(query.parameters, shown.parameters)]
    .filter((text) => !SHORT_NUMBER.test(text))
  if (texts.length > 0) log.secrets = [...new Set([...log.secrets, ...texts])].slice(-MAX_SECRETS)
  return shown
}

/** What was read of a statement serves later requests, too. */
const readerOf = cachedByObject(queryReader)

function recordedQueries (log: QueryLog, { sending, timing, until }: Recording) {
  const { mask, settings: { slowQuery = SLOW_QUERY } } = log.services
  const { startedAt: since, endedAt, own, handlerStart, handlerEnd } = timing
  const clients = [...new Set(log.queries.map(({ client, run }) => client ?? run))]
  // A pool is the database of its queries. Undefined is unknown.
  const connections = [...clients, ...new Set(log.queries.map(({ connection }) => connection))]
  // Short texts are compared faster.
  const statements = new Map<string, number>()
  const all = log.queries.map((query, index): Traced => {
    const { system, startedAt, endedAt = Infinity, wait, isPartial, run } = query
    const isOpen = endedAt >= until
    const { rows = null, error } = isOpen ? {} : query
    const frames = framesOf(query.frames)
    const source = frames[0]?.source ?? null
    const isInHandler = source === null && query.hook == null && handlerStart !== 0 && startedAt >= handlerStart &&
      startedAt <= (handlerEnd || Infinity)
    const { statement, parameters, shape, isRead, texts, isHidden, hasPlaceholders } = shownOf(log, query)
    const client = clients.indexOf(query.client ?? run)
    const connection = query.connection === undefined ? undefined : connections.indexOf(query.connection)
    const place = statements.get(query.statement) ?? statements.size
    statements.set(query.statement, place)
    // Some channels publish no values.
    const isKnown = query.parameters !== undefined || !hasPlaceholders
    const values = (isHidden === true || !isKnown ? null : identityOf(query.parameters)) ?? `?${index}`
    // A spread takes ten times as long here.
    return {
      system,
      statement,
      parameters,
      shape,
      isRead,
      start: roundTime(startedAt - since),
      duration: isOpen ? null : roundTime(endedAt - startedAt),
      rows,
      source,
      sender: isInHandler ? log.handler() : undefined,
      wait: wait && roundTime(wait),
      hook: query.hook?.position || undefined,
      error: error === undefined ? undefined : errorOf(error, mask, query, texts),
      index,
      identity: `${client} ${place} ${values}`,
      isComplete: isPartial !== true && isHidden !== true && isKnown,
      frames,
      client,
      connection,
      exhausted: query.exhausted
    }
  })
  const further = [...log.further.values()]
  const furtherLike = ({ system, shape, source }: Traced): number =>
    log.further.get(`${system} ${shape} ${source}`)?.count ?? 0
  // The diagnostic page and the budget need it before the end of the request.
  const findings = findingsOf(all, roundTime((endedAt || performance.now()) - since - own), slowQuery, furtherLike)
  // A job has no response.
  const ending = sending.isOver ? undefined : 'the job ended'
  const isWhole = log.count === all.length
  const { transactions, found } = transactionFindings(all, Math.max(0, endedAt - since), isWhole, ending)
  return {
    count: log.count,
    duration: roundTime(timeOf(all)),
    failed: further.reduce((sum, group) => sum + group.failed, all.filter(({ error }) => error !== undefined).length),
    queries: all.map((query): RecordedQuery => {
      const { system, statement, parameters = [], start, duration, rows, source, sender } = query
      const { shape, wait, hook, error } = query
      return { system, statement, parameters, start, duration, rows, source, sender, shape, wait, hook, error }
    }),
    groups: queryGroups(all, further, findings),
    findings: [...found, ...findings],
    ...transactions.length > 0 && { transactions }
  }
}

/** The frames of the same line are the same in later requests: to read them took a third of the time of a query. */
const appFrames = cachedFunction((text: string) => stackFrames(text, { isMapped: false }).filter(({ own }) => own)
  .map((frame) => ({ source: positionOf(frame) })))

function framesOf (frames: string | null | undefined): Traced['frames'] {
  return appFrames(frames ?? '')
}

function sourceOf (frames: string | null | undefined): string | null {
  return framesOf(frames)[0]?.source ?? null
}
