import { shortFile } from '../errors/stack-frame.js'
import { isSuccess, type Profile } from '../store/profile.js'
import { groupedBy, lineOf } from './read.js'

/** A query or a call that is compared; `source`: `file:line:column`. */
interface Sent { shape: string, source: unknown }

/** Whether what differs may follow from that only one of two requests has failed. */
export function isOneFailed (a: Profile, b: Profile): boolean {
  return isSuccess(a) !== isSuccess(b)
}

/**
 * The names by which queries or calls are compared with others: their shapes. Where one line sends one shape that only
 * this profile has, and one that only the other profile has, both have the name of the line.
 */
export function comparedNames (what: string, all: readonly Sent[], others: readonly Sent[]): string[] {
  const [here, there] = [changedShapes(all, others), changedShapes(others, all)]
  return all.map(({ shape, source }) => {
    const isPair = here.get(source)?.size === 1 && there.get(source)?.size === 1
    if (typeof source !== 'string' || !isPair || here.get(source)?.has(shape) !== true) return shape
    return `${what} from ${shortFile(lineOf(source))}`
  })
}

/** The shapes of each line that the other list does not have. */
function changedShapes (all: readonly Sent[], others: readonly Sent[]): Map<unknown, Set<string>> {
  const known = new Set(others.map(({ shape }) => shape))
  const changed = all.filter(({ shape }) => !known.has(shape))
  return new Map([...groupedBy(changed, ({ source }) => source)]
    .map(([source, group]) => [source, new Set(group.map(({ shape }) => shape))]))
}

/** The names that a success has sent after the last one that a failure has, too: the failure did not reach them. */
export function namesNotReached (
  profile: Profile, names: readonly string[], other: Profile, others: readonly string[]
): Set<string> {
  if (!isSuccess(profile) || isSuccess(other)) return new Set()
  const known = new Set(others)
  return new Set(names.slice(names.findLastIndex((name) => known.has(name)) + 1))
}
