import { html } from '../../../view/html.js'
import { visibleLine } from '../../../view/visible.js'
import type { CallTree } from '../../cpu/call-tree.js'
import { CODE_KINDS, type CodeKind } from '../../cpu/cpu-record.js'
import { milliseconds, note } from '../../pages/components.js'
import { addressOf } from '../panel.js'
import { counted } from '../../../view/counted.js'

const ROW = 20
const MAX_ROWS = 100
const MAX_FRAMES = 2_000
/** Parts of the width: what is narrower is no frame, what is narrower than a word has none. */
const LEAST = 0.0015
const LEAST_TEXT = 0.02
/** The part of its time that a call hands on to the next for both to be folded. */
const HANDED_ON = 0.9
/** Where the graph stands on its page. */
export const FRAGMENT = 'flame'

interface Frame {
  /** The calls that the bar stands for, each the caller of the next: several where they are folded. */
  chain: number[]
  /** Parts of the whole width. */
  x: number
  width: number
  row: number
  /** Whether it stands above the call that is shown: a way back. */
  above: boolean
}

interface Frames {
  list: Frame[]
  rows: number
  /** How many have no room. */
  hidden: number
}

/** What the graph is asked to show. */
export interface FlameView {
  /** The call at its top. */
  call: number
  /** The function that is to be found in it; -1 for none. */
  sought: number
  /** Each call, those too that hand on to the next one of others' code. */
  each: boolean
}

/** Calls as bars below those that made them, as wide as the time they took: a picture, whose table tells the same in words. */
export function flameGraph (tree: CallTree, view: FlameView): string {
  const { list, rows, hidden } = framesOf(tree, view)
  if (list.length === 0) return note('The processor had nothing to do.')
  return legend(list.flatMap(({ chain }) => chain.map((call) => tree.functionOf(call).kind))) + html`<svg class="flame!${view.sought === -1 ? '' : ' is-sought'}" width="100%" height="${rows * ROW}" aria-hidden="true">!${
    list.map((frame) => bar(tree, frame, view))}</svg>!${
    hidden === 0 ? '' : note(`${counted(hidden, 'call is', 'calls are')} too narrow or too deep to be shown: a click on a bar shows what is below it.`)}`
}

function framesOf (tree: CallTree, { call: top, each }: FlameView): Frames {
  const whole = top === 0 ? tree.busy : tree.total(top)
  if (whole <= 0) return { list: [], rows: 0, hidden: 0 }
  const chainOf = (call: number): number[] => each ? [call] : folded(tree, call)
  const list: Frame[] = []
  for (const call of tree.ancestors(top)) {
    const last = list.at(-1)
    if (last !== undefined && !each && isFoldable(tree, call) && isFoldable(tree, last.chain[0] as number)) last.chain.push(call)
    else list.push({ chain: [call], x: 0, width: 1, row: list.length, above: true })
  }
  const first = list.length
  list.push({ chain: chainOf(top), x: 0, width: 1, row: first, above: false })
  let hidden = 0
  // Row by row, so that what there is no room for is what lies deepest.
  for (let i = first; i < list.length; i++) {
    const { chain, x, row } = list[i] as Frame
    let left = x
    for (const child of childrenOf(tree, chain)) {
      const width = tree.total(child) / whole
      if (width >= LEAST && row + 1 < first + MAX_ROWS && list.length < MAX_FRAMES) list.push({ chain: chainOf(child), x: left, width, row: row + 1, above: false })
      else hidden++
      left += width
    }
  }
  return { list, rows: (list.at(-1)?.row ?? 0) + 1, hidden }
}

// Hooks that call each other, sixty deep, hide what is looked for: where nearly all of a call's time is handed on, it is folded with the next.
function folded (tree: CallTree, call: number): number[] {
  const chain = [call]
  for (let at = call; isFoldable(tree, at);) {
    const next = tree.children[at]?.find((child) => !tree.isIdle(child))
    if (next === undefined || !isFoldable(tree, next) || tree.total(next) < HANDED_ON * tree.total(at)) break
    chain.push(next)
    at = next
  }
  return chain
}

function isFoldable (tree: CallTree, call: number): boolean {
  const { kind } = tree.functionOf(call)
  return kind !== 'own' && kind !== 'engine'
}

function childrenOf (tree: CallTree, chain: readonly number[]): number[] {
  const children = chain.flatMap((call, i) => (tree.children[call] ?? []).filter((child) => child !== chain[i + 1] && !tree.isIdle(child) && tree.total(child) > 0))
  return chain.length === 1 ? children : children.sort((a, b) => tree.total(b) - tree.total(a))
}

function bar (tree: CallTree, { chain, x, width, row, above }: Frame, { sought, each }: FlameView): string {
  const call = chain[0] as number
  const kinds = chain.map((one) => tree.functionOf(one).kind)
  const kind = kinds.includes('dependency') ? 'dependency' : kinds[0] as CodeKind
  const time = call === 0 ? tree.busy : tree.total(call)
  const found = chain.some((one) => tree.record.calls.function[one] === sought)
  const link = addressOf('cpu', [...(call === 0 ? [] : [['call', String(above ? chain.at(-1) : call)] as const]), ...(each ? [['each', '1'] as const] : [])], FRAGMENT)
  const self = chain.reduce((sum, one) => sum + (tree.record.calls.self[one] ?? 0), 0)
  const title = `${words(tree, chain, true)}: ${milliseconds(time / 1000)} (${percent(tree.busy === 0 ? 0 : time / tree.busy)}), ${milliseconds(self / 1000)} in itself`
  const text = width < LEAST_TEXT ? '' : html`<text x="4" y="14">${visibleLine(words(tree, chain, width > 0.25))}</text>`
  return html`<a href="${link}" tabindex="-1"><svg class="frame code-${kind}!${above ? ' is-above' : ''}!${found ? ' is-match' : ''}" x="${(x * 100).toFixed(3)}%" y="${row * ROW}" width="${(width * 100).toFixed(3)}%" height="${ROW - 1}"><title>${visibleLine(title)}</title><rect width="100%" height="100%"/>!${text}</svg></a>`
}

function words (tree: CallTree, chain: readonly number[], long: boolean): string {
  const { name, file, line } = tree.functionOf(chain[0] as number)
  if (chain.length > 1) return `${name} … ${tree.functionOf(chain.at(-1) as number).name}, ${chain.length} calls of ${[...new Set(chain.map((one) => CODE_KINDS[tree.functionOf(one).kind]))].join(', ')}`
  return long && file !== '' ? `${name}, ${file}${line === 0 ? '' : `:${line}`}` : name
}

/** A share in per cent, as people read it. */
export function percent (share: number): string {
  return `${(share * 100).toLocaleString('en', { maximumFractionDigits: share < 0.1 ? 1 : 0 })} %`
}

function legend (shown: readonly CodeKind[]): string {
  const kinds = (Object.keys(CODE_KINDS) as CodeKind[]).filter((kind) => shown.includes(kind))
  return html`<ul class="legend" aria-label="Legend">!${kinds.map((kind) =>
    html`<li><svg class="swatch code-${kind}" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10"/></svg>${CODE_KINDS[kind]}</li>`)}</ul>`
}
