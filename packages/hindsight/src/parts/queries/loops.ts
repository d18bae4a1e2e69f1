import { attempt, cached, cachedByObject } from '../../call.js'
import { groupedBy, isObject, timeOf } from '../read.js'
import { milliseconds } from '../../view/components.js'
import { callPlace, hasLoop, isCallback, isStored, writtenCall } from './code.js'
import type { Finding } from './recorded-query.js'
import { shortShape } from './sql.js'
import { selectionOf, isPage, isRange } from './statement.js'
import {
  endOf, identityOf, isSameCall, MIN_PAUSE, nameOf, pauseBetween, type Caller, type OwnFrame, type Traced
} from './trace.js'

/** Queries of one shape and line from which a loop is certain. */
const MIN_LOOP = 5
/** Calls of one function that code may have as a list. */
const MAX_LIST = 12
/** Calls of functions by themselves that are counted: of more, the outermost ones may be missing in the stack. */
const MAX_DEPTH = 20

/** How many queries with the shape and the line of a query are only counted. */
export type FurtherLike = (query: Traced) => number

/** Finds loops that send one query in each round: N+1. */
export function loopsOf (all: readonly Traced[], requestDuration: number, furtherLike: FurtherLike): Finding[] {
  const reads = all.filter(({ source, effect, error }) => source !== null && effect.isRead && error === undefined)
  const lines = [...groupedBy(reads, ({ source }) => source).values()]
    .flatMap((group) => [...groupedBy(group, ({ shape }) => shape).values()])
  return lines.flatMap((group) => [...groupedBy(group, ({ client }) => client).values()])
    .filter(({ length }) => length >= MIN_LOOP).flatMap(byPath)
    .filter((rounds) => isLoop(rounds, all))
    .map((rounds): Finding => {
      const group = rounds.map(({ query }) => query)
      const [first] = group as [Traced]
      // Those that are only counted are of this loop if no other code sends them from this line.
      const others = furtherLike(first)
      const isOnly = lines.some((line) => line.includes(first) && line.length === group.length)
      const further = isOnly ? others : 0
      const count = group.length + further
      const time = timeOf(group)
      // After the response they may take longer than the request.
      const total = time > requestDuration ? '' : ` of ${milliseconds(requestDuration)}`
      const spent = `${further > 0 ? 'at least ' : ''}${milliseconds(time)}${total}`
      const over = rowsOfLoop(all, group, count)
      const loop = over === null ? '' : `; the loop runs over the ${over.rows} rows of ${callPlace(over, all)}`
      return {
        kind: 'n+1',
        text: `N+1: \`${shortShape(first.shape)}\` ${count} times from ${callPlace(first, all)}, ${spent}${loop}`,
        queries: group.map(({ index }) => index)
      }
    }).sort((a, b) => Number(a.queries[0]) - Number(b.queries[0]))
}

/** A query, the calls that led to it, and in how many calls of functions by themselves it is. */
interface Round { query: Traced, calls: readonly OwnFrame[], depth: number }

/**
 * Splits queries of one line, which may be that of a helper, by the calls that led to it. Calls that are in the stack
 * of the first round are missing in those after an `await`: the shorter list counts. Calls of functions by themselves
 * differ from round to round.
 */
function byPath (group: readonly Traced[]): Round[][] {
  const recursive = new Set([...new Set(group.map(({ caller }) => caller))].flatMap(recursiveCalls))
  // Up to a function that was called back: what has sent the first query is in none of the others.
  const framesOf = cachedByObject(({ frames }: Caller) => {
    const end = frames.findIndex((frame, i) => frames.slice(0, i).some((call) => isCallback(frame, writtenCall(call))))
    return end === -1 ? frames : frames.slice(0, end)
  })
  const rounds = group.map((query): Round => {
    const frames = framesOf(query.caller)
    const calls = frames.filter(({ source }) => !recursive.has(source))
    return { query, calls, depth: Math.min(frames.length - calls.length, MAX_DEPTH) }
  })
  const parts: Round[][] = []
  const resumed = ({ calls }: Round): number => calls.filter(({ function: name }) => name.startsWith('async ')).length
  // Functions that are called one by one, `Promise.all([run(), run()])`, are resumed from one place.
  for (const round of rounds.toSorted((a, b) => a.calls.length - b.calls.length || resumed(b) - resumed(a))) {
    const part = parts.find(([first]) => first?.calls.every((call, i) => isSameCall(call, round.calls[i])))
    if (part === undefined) parts.push([round])
    else part.push(round)
  }
  // A function that returns a promise without `await` is in the stacks of the first rounds only.
  for (const part of [...parts]) {
    const longer = parts.filter((other) => other !== part && isPathIn(part[0] as Round, other[0] as Round))
    const [first] = longer
    if (first !== undefined && longer.length === 1 && parts.includes(part)) {
      part.push(...parts.splice(parts.indexOf(first), 1).flat())
    }
  }
  return parts.map((part) => part.sort((a, b) => a.query.index - b.query.index))
}

/** Whether all calls of a round are among those of another one, in their order. */
function isPathIn (path: Round, { calls }: Round): boolean {
  const left = [...path.calls]
  for (const call of calls) if (left[0] !== undefined && isSameCall(left[0], call)) left.shift()
  return left.length === 0
}

/** The places of calls within a function that is called again in them. */
function recursiveCalls ({ frames }: Caller): string[] {
  const inner = new Set<string>()
  return frames.flatMap((frame) => {
    const { source, file } = frame
    const key = frame.function.includes('<anonymous>') ? source : `${file} ${nameOf(frame)}`
    const isRecursive = inner.has(key)
    inner.add(key)
    return isRecursive ? [source] : []
  })
}

function isLoop (rounds: readonly Round[], all: readonly Traced[]): boolean {
  const group = rounds.map(({ query }) => query)
  const distinct = distinctOf(group)
  const [first, last] = [group[0], group.at(-1)] as [Traced, Traced]
  if (group.length < MIN_LOOP || distinct < (first.isComplete || first.system !== 'redis' ? 2 : MIN_LOOP)) return false
  const hasPauses = group.some((query, i) => i > 0 && pauseBetween(group[i - 1] as Traced, query, all) >= MIN_PAUSE)
  // A function that calls itself goes over rows, or down from row to row. The rounds of `reduce(async …)` wait for the
  // first one, which is the deepest.
  const isDescent = rounds.some(({ depth }, i) => i > 0 && depth > (rounds[i - 1] as Round).depth)
  // A pause between a few values that repeat: it waits for a change.
  if ((hasPauses && distinct < MIN_LOOP) || isBatch(group, hasPauses)) return false
  if (isAlongRows(group) && !isInOrder(group, rowsOfLoop(all, group))) return false
  // `Promise.all([load(1), load(2), …])`: functions that were resumed do not show from where they were called.
  const positions = new Set(group.map(({ caller }) => caller.position))
  const isListed = positions.size === group.length && !positions.has('')
  const isUnknown = mayBeCalls(group) || first.caller.frames.some(isStored)
  const mayBeList = group.length <= MAX_LIST && (isListed || isUnknown)
  const mayBeOther = mayBeList || isSearch(group, all) || isDescent || isWalk(group, all)
  if (mayBeOther && rowsOfLoop(all, group) === null) return false
  const between = all.slice(first.index, last.index)
  // What is sent together of these is one round trip.
  const isBatched = first.system === 'redis' || (first.system === 'prisma' && first.shape.includes('.findUnique'))
  if (!isBatched) return !between.some(({ effect }) => effect.isDefinition)
  const count = group.filter((query, i) => i === 0 || query.start >= endOf(group[i - 1] as Traced)).length
  // Parts of one list are pages.
  const isOneList = /^\w*RANGE/.test(first.shape) && new Set(group.map((query) => selectionOf(query).keys)).size === 1
  return count >= MIN_LOOP && !isOneList
}

/** Whether nothing waits for functions that were resumed, and none has a loop: `const a = load(1), b = load(2)`. */
function mayBeCalls (group: readonly Traced[]): boolean {
  const isTogether = group.every((query, i) => i === 0 || query.start < endOf(group[i - 1] as Traced))
  const frame = group.find(({ caller }) => caller.isResumed)?.caller.frames.at(-1)
  return isTogether && frame !== undefined && hasLoop(frame) === false
}

function distinctOf (group: readonly Traced[]): number {
  return new Set(group.map(({ identity }) => identity)).size
}

/** Whether each query selects a part of one list: chunks, pages, or ranges with many rows. */
function isBatch (group: readonly Traced[], hasPauses: boolean): boolean {
  const selections = group.map(selectionOf)
  const lists = selections.map(({ lists }) => lists).filter((list) => list !== '')
  // The last chunk may have one item.
  if (new Set(lists).size > 1 && lists.length > group.length / 2) return true
  const [first] = group as [Traced]
  return new Set(selections.map(({ keys }) => keys)).size === 1 &&
    (isPage(first) || (isRange(first) && (hasPauses || group.some(({ rows }) => (rows ?? 0) > 1))))
}

/** Whether each row may have been asked for its own: there is one query for each, and for each row of the beginning. */
function isWalk (group: readonly Traced[], all: readonly Traced[]): boolean {
  const beginning = group.length - group.reduce((sum, { rows }) => sum + (rows ?? 0), 0)
  return group.some(({ rows }) => (rows ?? 0) > 1) && beginning > 0 &&
    (beginning === 1 || all.slice(0, group[0]?.index).some(({ rows }) => rows === beginning))
}

/** Whether the loop may have ended with what the last one found, or did not: a free name, the first translation. */
function isSearch (group: readonly Traced[], all: readonly Traced[]): boolean {
  const [first, last] = [group[0], group.at(-1)] as [Traced, Traced]
  const endsWithOther = (outcomeOf: (query: Traced) => unknown): boolean => outcomeOf(first) !== outcomeOf(last) &&
    group.slice(0, -1).every((query) => outcomeOf(query) === outcomeOf(first))
  // What was not found was written: the loop went on.
  const isWritten = (before: Traced, query: Traced): boolean =>
    all.slice(before.index, query.index).some(({ effect }) => effect.isWrite)
  const others = group.slice(1)
  return (endsWithOther(({ rows }) => rows !== 0) || endsWithOther(foundRow)) &&
    others.every((query, i) => query.start >= endOf(group[i] as Traced)) &&
    !others.every((query, i) => isWritten(group[i] as Traced, query))
}

/** The row that a query found, as text; '' without one. Several rows are equal to no others. */
function foundRow (query: Traced): unknown {
  return query.rows === 0 ? '' : query.rows === 1 ? identityOf(rowsOf(query)[0]) : query
}

/**
 * Whether each query has a value of a row before it, in one column, and each such value has a query: it goes up to the
 * parents, or through the nodes of a graph.
 */
function isAlongRows (group: readonly Traced[]): boolean {
  const [start, second] = group as [Traced, Traced]
  const given = valuesIn(start.parameters)
  const next = valuesIn(second.parameters).filter((value) => !given.includes(value))
  // The second query of most loops has no value of the first row: to compare all values takes long.
  const found = rowsOf(start).map(fieldsOf).flatMap(Object.values).flatMap(valuesIn)
  if (!found.some((value) => next.includes(value))) return false
  const values = group.map(({ parameters }) => valuesIn(parameters))
  // What all have in common, such as a limit, is no value of a row.
  const common = given.filter((value) => values.every((others) => others.includes(value)))
  const visited = new Set(values.flat())
  // The second query has a value of the rows of the first one.
  return [...new Set(rowsOf(start).flatMap((row) => Object.keys(fieldsOf(row))))].some((column) => {
    const foundBy = cached((query: Traced) => rowsOf(query).flatMap((row) => valuesIn(fieldsOf(row)[column])))
    const isFound = group.every((query, i) => i === 0 || group.slice(0, i).some((before) =>
      endOf(before) <= query.start &&
      foundBy(before).some((value) => values[i]?.includes(value) === true && !common.includes(value))))
    return isFound && group.slice(0, -1).flatMap(foundBy).every((value) => visited.has(value))
  })
}

/** Whether each query has the value of one column of its row in a list: the rows may also have that of the next one. */
function isInOrder (group: readonly Traced[], list: Traced | null): boolean {
  const rows = list === null ? [] : rowsOf(list).map(fieldsOf)
  return rows.length === group.length && Object.keys(rows[0] ?? {}).some((column) => {
    const values = rows.map((row) => valuesIn(row[column]).join())
    return new Set(values).size === values.length &&
      group.every(({ parameters }, i) => valuesIn(parameters).includes(values[i] ?? ''))
  })
}

/** A result is a list, `{ rows }`, or a list of rows and of their description. */
function rowsOf ({ result }: Traced): unknown[] {
  return [Object(result).rows ?? result].flat(2) as unknown[]
}

/** The fields of a row; it may be JSON, or a text without any. */
function fieldsOf (row: unknown): Record<string, unknown> {
  const value: unknown = typeof row === 'string' ? attempt(() => JSON.parse(row) as unknown, () => null) : row
  return isObject(value) ? value : { row }
}

/** Words and numbers of a row or of parameters; those of documents, identifiers and keys are in their JSON. */
function valuesIn (container: unknown): string[] {
  const texts = (identityOf(container) ?? '').match(/"(?:[^"\\]|\\.)*":?|-?\d[\d.e+-]*/g) ?? []
  return texts.filter((text) => !text.endsWith(':')).flatMap((text) => text.match(/[^\s"\\:{},]+/g) ?? [])
}

/**
 * The query whose rows the loop runs over: the last one before it with as many rows as the loop has rounds. Where its
 * rows are known, each round has a value of them.
 */
function rowsOfLoop (all: readonly Traced[], group: readonly Traced[], count = group.length): Traced | null {
  const [first] = group as [Traced]
  const rounds = [count, distinctOf(group)]
  // Clients that report their times count whole milliseconds.
  const latest = first.start + (Number.isInteger(first.duration) ? 1 : 0)
  return all.slice(0, first.index).findLast((query) => {
    if (!rounds.includes(query.rows ?? 0) || query.source === null || endOf(query) > latest) return false
    const found = new Set(rowsOf(query).flatMap(valuesIn))
    return found.size === 0 || group.every(({ parameters }) => {
      const given = valuesIn(parameters)
      return given.length === 0 || given.some((value) => found.has(value))
    })
  }) ?? null
}
