import { milliseconds } from '../../view/components.js'
import { counted } from '../../view/text.js'
import { groupedBy } from '../read.js'
import { callPlace, isStraight } from './code.js'
import { loopsOf, type FurtherLike } from './loops.js'
import type { Finding } from './recorded-query.js'
import { shortShape } from './sql.js'
import {
  endOf, isSameCall, MIN_PAUSE, pauseBetween, queryPlace, totalDuration, type OwnFrame, type Traced
} from './trace.js'

/** Milliseconds of each pause between queries that wait for a change. */
const MIN_REGULAR_PAUSE = 4
const MIN_SERIAL = 2
/** Milliseconds that queries must take together before it matters that they run one after another. */
const MIN_SERIAL_TIME = 10

/** Finds what is remarkable; `slow` is the number of milliseconds from which a query is. */
export function findingsOf (
  all: readonly Traced[], requestDuration: number, slow: number, furtherLike: FurtherLike = () => 0
): Finding[] {
  const loops = loopsOf(all, requestDuration, furtherLike)
  const inLoop = new Set(loops.flatMap(({ queries }) => queries))
  const others = all.filter(({ index }) => !inLoop.has(index))
  const duplicates = duplicatesOf(others, all, furtherLike)
  const connections = groupedBy(all.filter(({ connection }) => connection !== undefined), (query) => query.connection)
  const rolledBack = [...connections.values()].flatMap(rolledBackOf)
  return [...loops, ...duplicates, ...serialOf(all, inLoop), ...rolledBack, ...slowOf(all, slow)]
}

function duplicatesOf (queries: readonly Traced[], all: readonly Traced[], furtherLike: FurtherLike): Finding[] {
  // What is read again after a write, in another transaction or when something failed, may differ.
  const changes = new Map<string, number>()
  const steps = all.map((query) => {
    if (query.error !== undefined) changes.set('', (changes.get('') ?? 0) + 1)
    else if (query.effect.isWrite || query.effect.command !== null) {
      changes.set(query.system, (changes.get(query.system) ?? 0) + 1)
    }
    return `${changes.get('') ?? 0} ${changes.get(query.system) ?? 0}`
  })
  const reads = queries.filter(({ effect, error, isComplete }) =>
    effect.isRead && !effect.isWrite && isComplete && error === undefined)
  const keyOf = ({ index, identity }: Traced): string => `${steps[index]} ${identity}`
  return [...groupedBy(reads, keyOf).values()].flatMap((group): Finding[] => {
    const pauses = group.slice(1).map((query, i) => {
      const before = group[i] as Traced
      return before.source === query.source ? pauseBetween(before, query, all) : 0
    })
    const isPolled = pauses.some((pause) => pause >= MIN_PAUSE) ||
      (pauses.length > 1 && pauses.every((pause) => pause >= MIN_REGULAR_PAUSE))
    if (group.length < 2 || isPolled) return []
    const callers = [...groupedBy(group, ({ caller }) => caller).values()].map(([query]) => query as Traced)
    const places = [...new Set(callers.map((query) => {
      const call = callOf(query, callers, (a, b) => b === undefined || isSameCall(a, b))
      return call === undefined ? callPlace(query, all) : queryPlace(call)
    }))]
    // The parameters of further ones are unknown.
    const least = group.some((query) => furtherLike(query) > 0) ? 'at least ' : ''
    return [{
      kind: 'duplicates',
      text: `\`${shortShape((group[0] as Traced).shape)}\` was sent ${least}${group.length} times ` +
        `with the same parameters, from ${places.join(' and ')}`,
      queries: group.map(({ index }) => index)
    }]
  })
}

/** Queries of one function that each began when the one before had ended, though none needs the result of another. */
function serialOf (all: readonly Traced[], inLoop: ReadonlySet<number>): Finding[] {
  const findings: Finding[] = []
  let [run, isInTransaction]: [Traced[], boolean] = [[], false]
  const end = (): void => {
    if (run.length >= MIN_SERIAL && totalDuration(run) >= MIN_SERIAL_TIME) {
      const longest = Math.max(...run.map(({ duration }) => duration ?? 0))
      const places = [...new Set(run.map((query) => queryPlace(callOf(query, run) ?? query)))]
      findings.push({
        kind: 'serial',
        text: `${counted(run.length, 'independent query', 'independent queries')} ran one after another, from ` +
          `${places.join(', ')}: ${milliseconds(totalDuration(run))}, ` +
          `and at the same time about ${milliseconds(longest)}`,
        queries: run.map(({ index }) => index)
      })
    }
    run = []
  }
  for (const query of all) {
    const { command } = query.effect
    if (command !== null) isInTransaction = command === 'begin' || command === 'undo'
    // One connection runs one query at a time.
    const isFree = !isInTransaction && !inLoop.has(query.index) && isIndependent(query, run[0])
    if (!isFree || !follows(run, query)) end()
    if (isFree) run.push(query)
  }
  end()
  return findings
}

/** Totals have one row whatever they are: no code decides by them whether something exists. */
const TOTAL = /^select (?:(?:count|sum|avg|min|max) ?\([^()]*\)(?: as \w+)?,? ?)+ ?from\b(?![^]*\bgroup by\b)/i

// It is certain only where no value can come from another query: without values, or of totals with the same ones.
function isIndependent (query: Traced, first: Traced = query): boolean {
  const isKnown = query.source !== null && query.error === undefined && query.duration !== null &&
    query.effect.isRead
  const hasValues = (query.shape.match(/\?/g) ?? []).length > 0
  const isTotal = TOTAL.test(query.shape) && TOTAL.test(first.shape) && valuesOf(query) === valuesOf(first)
  return isKnown && !/^(?:sqlite|redis|mongodb|prisma)$/.test(query.system) && (!hasValues || isTotal)
}

function valuesOf ({ parameters, statement, shape }: Traced): string {
  const hasLiterals = /'|\b\d/.test(statement.replace(/\$\d+/g, ''))
  return JSON.stringify([parameters, hasLiterals ? shape : ''])
}

function follows (run: readonly Traced[], query: Traced): boolean {
  const before = run.at(-1)
  if (before?.index !== query.index - 1 || run.some(({ shape }) => shape === query.shape)) return false
  const [from, to] = [callOf(before, [query]), callOf(query, [before])]
  return query.start >= endOf(before) && from !== undefined && to !== undefined && isStraight(from, to)
}

/** The innermost call that other queries do not share: the rest are helpers. */
function callOf (
  { caller: { frames } }: Traced, others: readonly Traced[],
  isShared = (a: OwnFrame, b: OwnFrame | undefined): boolean => a.source === b?.source
): OwnFrame | undefined {
  return frames.find((frame, i) => others.some(({ caller }) => !isShared(frame, caller.frames[i])))
}

function slowOf (all: readonly Traced[], slow: number): Finding[] {
  return all.filter(({ duration }) => (duration ?? 0) >= slow).map((query) => ({
    kind: 'slow',
    text: `\`${shortShape(query.shape)}\` took ${milliseconds(query.duration)}, from ${callPlace(query, all)}`,
    queries: [query.index]
  }))
}

/** The failed queries of transactions of one connection that were rolled back. */
function rolledBackOf (queries: readonly Traced[]): Finding[] {
  const findings: Finding[] = []
  let [failed, count, isOpen]: [Traced[], number, boolean] = [[], 0, false]
  for (const query of queries) {
    const { command } = query.effect
    // PostgreSQL rolls a transaction with a failure back, also at `commit`.
    const isUndone = command === 'rollback' || (command === 'commit' && query.system === 'postgresql')
    const [first] = failed
    if ((isOpen || query.system === 'mongodb') && isUndone && first !== undefined) {
      findings.push({
        kind: 'rolled back',
        text: `A transaction of ${counted(count, 'query', 'queries')} was rolled back after ` +
          `\`${shortShape(first.shape)}\` failed, from ${callPlace(first, queries)}: ${first.error?.message}`,
        queries: failed.map(({ index }) => index)
      })
    }
    if (command === null) count++
    if (command === null && query.error !== undefined) failed.push(query)
    // A savepoint has undone the failure.
    if (command !== null) failed = []
    if (command === 'begin') [isOpen, count] = [true, 0]
    else if (command === 'commit' || command === 'rollback') isOpen = false
  }
  return findings
}
