import { formatTime } from '../../view/components.js'
import { formatCount } from '../../view/text.js'
import { groupedBy, timeOf } from '../read.js'
import type { Finding } from './recorded-query.js'
import { shortShape } from './sql.js'
import { queryPlace, type Traced } from './trace.js'

/** Queries of one shape and line that are a repetition. */
const MIN_REPEATED = 5
/** Shapes that select the next part of one result. */
const PART = /\boffset\b|\bfetch next\b|\blimit \?, ?\?|\bbetween\b|[<>]=? ?\(?\?.*\blimit\b|\b(?:skip|cursor): /i

/** How many queries with the shape and the line of a query are only counted. */
type FurtherLike = (query: Traced) => number

/** Finds what is remarkable; `slow` is the number of milliseconds from which a query is. */
export function findingsOf (
  all: readonly Traced[], requestDuration: number, slow: number, furtherLike: FurtherLike = () => 0
): Finding[] {
  const repeated = repetitionsOf(all, requestDuration, furtherLike)
  const inRepeated = new Set(repeated.flatMap(({ queries }) => queries))
  return [...repeated, ...duplicatesOf(all, inRepeated), ...slowOf(all, slow)]
}

/** Reads of one shape that one line has sent, or an unknown one, at least five times. */
function repetitionsOf (all: readonly Traced[], requestDuration: number, furtherLike: FurtherLike): Finding[] {
  const lineOf = linesOf(all)
  const reads = all.filter((query) => query.isRead && !PART.test(query.shape) && !isBatched(query, all))
  const keyOf = (query: Traced): string => JSON.stringify([query.system, query.shape, query.client, lineOf(query)])
  const groups = [...groupedBy(reads, keyOf).values()].filter(({ length }) => length >= MIN_REPEATED)
  return groups.map((group): Finding => {
    const [first] = group as [Traced]
    // Those that are only counted are of this group if no other one has its line.
    const isOnly = all.every((query) => query.shape !== first.shape || query.source !== first.source ||
      group.includes(query))
    const further = isOnly ? furtherLike(first) : 0
    const count = group.length + further
    const time = timeOf(group)
    // After the response they may take longer than the request.
    const total = time > requestDuration ? '' : ` of ${formatTime(requestDuration)}`
    const spent = `${further > 0 ? 'at least ' : ''}${formatTime(time)}${total}`
    const place = queryPlace({ ...first, source: lineOf(first) })
    const sent = `\`${shortShape(first.shape)}\` ${formatCount(count, 'time')} from ${place}`
    const queries = group.map(({ index }) => index)
    const isSame = further === 0 && first.isComplete && group.every(({ identity }) => identity === first.identity)
    if (isSame) return { kind: 'duplicates', text: `The same query: ${sent}, ${spent}`, queries }
    const rows = all.slice(0, first.index).findLast((query) => query.rows === count)
    if (rows === undefined) return { kind: 'repeated', text: `${sent}, ${spent}`, queries }
    const after = `after the ${count} rows of ${queryPlace({ ...rows, source: lineOf(rows) })}`
    return { kind: 'n+1', text: `N+1: ${sent} ${after}, ${spent}`, queries }
  })
}

/** The line of the innermost call that sends no query of another shape: helpers that send any statement say nothing. */
export function linesOf (all: readonly Traced[]): (query: Traced) => string | null {
  const shapes = new Map<string, Set<string>>()
  for (const { shape, frames } of all) {
    for (const { source } of frames) shapes.set(source, (shapes.get(source) ?? new Set()).add(shape))
  }
  return ({ frames, source }) => frames.find((frame) => shapes.get(frame.source)?.size === 1)?.source ?? source
}

/** Whether a query is sent in one round trip with the one before: a pipeline of Redis, a batch of Prisma. */
function isBatched ({ system, shape, start, index }: Traced, all: readonly Traced[]): boolean {
  const before = all[index - 1]
  return (system === 'redis' || (system === 'prisma' && shape.includes('.findUnique'))) &&
    before?.shape === shape && start < before.start + (before.duration ?? Infinity)
}

/** Reads with the same values, without any other query of their database between them that may change something. */
function duplicatesOf (all: readonly Traced[], inRepeated: ReadonlySet<number>): Finding[] {
  const lineOf = linesOf(all)
  const changes = new Map<string, number>()
  const groups = groupedBy(all, (query) => {
    const { system, identity, isRead, isComplete, error, index } = query
    if (!isRead || error !== undefined) changes.set(system, (changes.get(system) ?? 0) + 1)
    const isCompared = isRead && isComplete && error === undefined && !inRepeated.has(index)
    return isCompared ? `${changes.get(system) ?? 0} ${identity}` : `${index}`
  })
  const same = [...groups.values()].filter(({ length }) => length > 1).map((group) => {
    const places = [...new Set(group.map((query) => queryPlace({ ...query, source: lineOf(query) })))].join(' and ')
    return { group, places, shape: shortShape((group[0] as Traced).shape) }
  })
  return [...groupedBy(same, ({ shape, places }) => `${shape} ${places}`).values()].map((equal): Finding => {
    const [{ shape, places }] = equal as [typeof same[number]]
    const queries = equal.flatMap(({ group }) => group.map(({ index }) => index))
    let sent = formatCount(queries.length, 'time')
    if (equal.length > 1) sent += ` with ${equal.length} different values`
    return { kind: 'duplicates', text: `The same query: \`${shape}\` ${sent} from ${places}`, queries }
  })
}

function slowOf (all: readonly Traced[], slow: number): Finding[] {
  const lineOf = linesOf(all)
  const found = all.filter(({ duration }) => (duration ?? 0) >= slow)
  const keyOf = (query: Traced): string => `${shortShape(query.shape)} ${lineOf(query)}`
  return [...groupedBy(found, keyOf).values()].map((group): Finding => {
    const [first] = group as [Traced]
    let took = `took ${formatTime(Math.max(...group.map(({ duration }) => Number(duration))))}`
    if (group.length > 1) took = `took up to ${took.slice('took '.length)}, ${group.length} times`
    const text = `\`${shortShape(first.shape)}\` ${took}, from ${queryPlace({ ...first, source: lineOf(first) })}`
    return { kind: 'slow', text, queries: group.map(({ index }) => index) }
  })
}
