import type { EventColumns } from '../../kernel/event-columns.js'
import type { HeaderTrail, OutsideChange } from '../../kernel/header-trail.js'
import type { Mask } from '../../kernel/mask/mask.js'
import { shownValue } from '../../kernel/slot-memory.js'
import { cut } from '../../view/visible.js'
import { originOfCall, type CallOrigin } from '../../diagnostics/call-site.js'

/** A change of a header that none of the listeners made, as a profile keeps it. */
export interface TrailedChange extends CallOrigin {
  name: string
  /** Null: not there. */
  from: string | null
  to: string | null
  /** How many events of the profile came ahead of it. */
  after: number
  /** Whether the handler of the route was at work. */
  handling?: true
  /** What was called, such as `reply.header`. */
  via: string
  /** The name of a cookie that was asked for here: the session listener writes the header. */
  cookie?: string
}

/** Who has changed headers beside the listeners, whose changes are with their events. */
export interface TrailRecord {
  changes?: TrailedChange[]
  /** How many more changes there were. */
  dropped?: number
  /** What Node.js itself has added to the head; null for the moment in `Date`. */
  node: Record<string, string | null>
}

const MAX_VALUE = 4_096
const DATE = '\r\nDate: '
// As it writes them.
const OF_NODE = ['Date', 'Connection', 'Keep-Alive', 'Transfer-Encoding', 'Content-Length'].map((name) => [name.toLowerCase(), `\r\n${name}: `] as const)

/** What a profile tells of the headers that were changed outside of the listeners; `head` is what Node.js has sent. */
export function trailRecord (trail: HeaderTrail, events: EventColumns, head: unknown, sent: Readonly<Record<string, unknown>>, mask: Mask): TrailRecord {
  const added = typeof head === 'string' ? addedByNode(head, sent) : []
  const node = Object.fromEntries(added)
  if (trail.changes.length === 0) return { node }
  return {
    changes: trail.changes.map((change) => shown(change, events, mask)),
    ...(trail.dropped > 0 && { dropped: trail.dropped }),
    node
  }
}

function shown ({ name, from, to, after, handling, via, site, cookie }: OutsideChange, { layout: { places } }: EventColumns, mask: Mask): TrailedChange {
  const value = (one: OutsideChange['to']): string | null => {
    const text = shownValue(name, one, mask.header)
    return text === null ? null : cut(text, MAX_VALUE)
  }
  return {
    name: cut(name, 200),
    from: value(from),
    to: value(to),
    after: after === 0 ? 0 : places[after - 1] ?? 0,
    ...(handling && { handling }),
    via,
    ...originOfCall(site),
    ...(cookie !== undefined && { cookie: mask.text(cut(cookie, 200)) })
  }
}

// What stands in the head that nobody has told Node.js.
function addedByNode (head: string, sent: Readonly<Record<string, unknown>>): Array<[name: string, value: string | null]> {
  const added: Array<[string, string | null]> = []
  // It adds them behind those that it was told, its date first.
  const from = sent.date === undefined ? Math.max(0, head.lastIndexOf(DATE)) : 0
  for (const [name, start] of OF_NODE) {
    if (sent[name] !== undefined) continue
    const at = head.indexOf(start, from)
    if (at !== -1) added.push([name, name === 'date' ? null : head.slice(at + start.length, head.indexOf('\r\n', at + start.length))])
  }
  return added
}
