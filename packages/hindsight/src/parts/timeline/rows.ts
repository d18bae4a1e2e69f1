import { formatCount } from '../../view/text.js'
import type { Span } from '../read.js'

/** A row of the timeline: one entry, or several that are equal. */
export interface Row {
  entries: Span[]
  /** Of entries that differ: what they are. */
  name?: string
  /** What began within the entry. */
  children: Row[]
}

/** A share of the request. */
const SMALL = 0.01

interface Node { span: Span, children: Node[] }

/**
 * The rows of entries, which are in the order of their start. Entries are below the span or hook that started them, or
 * below the handler or listener in which they began. Equal ones below the same entry are one row, as are the listeners
 * of a stage and short hooks.
 */
export function timelineRows (spans: readonly Span[], total: number): Row[] {
  const nodes = spans.map((span): Node => ({ span, children: [] }))
  const steps = nodes.filter(({ span: { step } }) => step !== undefined && step !== 'hook')
  const earlier = new Map<unknown, Node>()
  const top = nodes.filter((node) => {
    const { id, parentId, hook } = node.span
    // Only an earlier entry can be the parent, so that there are no cycles.
    const parent = earlier.get(parentId ?? node) ?? earlier.get(`event-${hook}`) ?? enclosing(node, steps)
    parent?.children.push(node)
    if (id !== undefined && !earlier.has(id)) earlier.set(id, node)
    return parent === undefined
  })
  return merged(top, total * SMALL)
}

/**
 * The step in which an entry began: not a hook, in whose time work that other code has started may begin. Only hooks of
 * serialization begin within another step.
 */
function enclosing ({ span: { step, stage, start } }: Node, steps: readonly Node[]): Node | undefined {
  if (step !== undefined && stage !== 'preSerialization') return undefined
  return steps.findLast(({ span }) => span.start <= start && start < span.start + (span.duration ?? Infinity) &&
    (step === undefined || span.step === 'serialization'))
}

/** The same for entries of one row. */
function rowKey (node: Node): unknown {
  const { step, stage, failed, name, group = name, source, legend } = node.span
  if (step === 'listener') return `stage ${String(stage)}`
  if (failed || step !== undefined || node.children.length > 0) return node
  return JSON.stringify([legend, group, source])
}

function merged (nodes: readonly Node[], small: number): Row[] {
  const rows = new Map<unknown, { row: Row, nodes: Node[] }>()
  let steps = 0
  for (const node of nodes) {
    const { span, children } = node
    const { step, failed, duration } = span
    const isSmall = step === 'hook' && !failed && children.length === 0 && Number(duration) < small
    if (step !== undefined && step !== 'listener' && !isSmall) steps++
    const key = isSmall ? `hooks ${steps}` : rowKey(node)
    const known = rows.get(key)
    if (known === undefined) rows.set(key, { row: { entries: [span], children: [] }, nodes: [node] })
    else {
      known.row.entries.push(span)
      known.nodes.push(node)
    }
  }
  return [...rows.values()].map(({ row, nodes }) => {
    const [{ step, stage }] = row.entries as [Span]
    const count = row.entries.length
    if (step === 'listener') row.name = `${String(stage)}, ${formatCount(count, 'listener')}`
    else if (step === 'hook' && count > 1) row.name = `${formatCount(count, 'hook')} under 1 %`
    row.children = merged(nodes.flatMap(({ children }) => children), small)
    return row
  })
}
