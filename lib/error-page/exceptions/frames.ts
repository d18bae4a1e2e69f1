import { basename } from 'node:path'
import type { EditorLink } from '../../view/editor.js'
import { KeptMarkup, type Part } from '../../view/parts.js'
import { html, text } from '../../view/html.js'
import { visibleLine } from '../../view/visible.js'
import type { FlattenedException, StackFrame } from '../../errors/exception.js'
import { isInternal } from '../../errors/stack-frame.js'
import * as excerpt from '../excerpt/excerpt.js'
import { fullPlace, shortFile } from '../shared.js'
import { counted, wordFor } from '../../view/counted.js'

/** How the frames of one exception are to be shown. */
export interface FramesView {
  editor: EditorLink | null
  /** The frame that is shown above already; without one the first frame of own code is open. */
  culprit: StackFrame | null
  /** Whether frames of dependencies are only counted. */
  brief: boolean
  /** From which frame on they are those of the exception before; the number of frames where none is. */
  end: number
}

interface Rendered extends FramesView { markup: KeptMarkup }

// The frames of a stack that was seen before are the same array: their markup is written once.
const rendered = new WeakMap<readonly StackFrame[], Rendered[]>()
const MAX_VIEWS = 8
const MAX_AHEAD = 12
const MIN_REPEATED = 4
const MIN_MACHINERY = 4
const HOOKS = /[\\/]fastify[\\/]lib[\\/]hooks\.js$/
/** Lines on either side in frames that are not the first to look at. */
const AROUND = 3

/** The frames of an exception: own code in the open, what lies between folded into groups with a count. */
export function renderFrames ({ frames, framesDropped }: FlattenedException, view: FramesView): Part[] {
  if (frames.length === 0) return ['<p class="note none">Nothing is known of where it was raised.</p>']
  const dropped = framesDropped ? html`<p class="note none">${framesDropped} more frames are left out.</p>` : ''
  return [listOf(frames, view), dropped]
}

/** From which frame on an exception's frames are those that another one has, too: an error and its cause share their callers. */
export function sharedFrom (frames: readonly StackFrame[], others: readonly StackFrame[]): number {
  for (let from = 0; from < Math.min(frames.length, MAX_AHEAD); from++) {
    const at = others.findIndex((other) => isSame(other, frames[from] as StackFrame))
    if (at === -1) continue
    // The limit of a stack cuts one of them off ahead of the other.
    const run = Math.min(frames.length - from, others.length - at)
    if (run >= MIN_REPEATED && frames.slice(from, from + run).every((frame, i) => isSame(frame, others[at + i] as StackFrame))) return from
  }
  return frames.length
}

function isSame (a: StackFrame, b: StackFrame): boolean {
  return a.line === b.line && a.column === b.column && a.file === b.file && a.function === b.function
}

function listOf (frames: readonly StackFrame[], view: FramesView): KeptMarkup {
  const known = rendered.get(frames) ?? []
  const same = known.find(({ editor, culprit, brief, end }) => editor === view.editor && culprit === view.culprit && brief === view.brief && end === view.end)
  if (same !== undefined) return same.markup
  const first = view.culprit === null ? frames.find((frame) => frame.own && frame.excerpt) : undefined
  const items = groups(frames.slice(0, view.end)).map((group) => group[0]?.own === true
    ? group.map((frame) => `<li class="own">${frame === view.culprit ? renderAbove(frame) : renderFrame(frame, frame === first, view.editor)}</li>`).join('')
    : view.brief ? renderCount(group) : renderFold(group, view.editor))
  const left = frames.length - view.end
  if (left > 0) items.push(`<li class="fold"><p><span class="count">${left}</span> more, as in the exception before</p></li>`)
  const markup = new KeptMarkup(`<ol class="frames">${items.join('')}</ol>`)
  rendered.set(frames, [{ ...view, markup }, ...known].slice(0, MAX_VIEWS))
  return markup
}

/** Frames that follow each other and are all own code, or all not. */
function groups (frames: readonly StackFrame[]): StackFrame[][] {
  const grouped: StackFrame[][] = []
  for (const frame of frames) {
    const last = grouped.at(-1)
    if (last?.[0]?.own === frame.own) last.push(frame)
    else grouped.push([frame])
  }
  return grouped
}

function renderCount (group: readonly StackFrame[]): string {
  return html`<li class="fold"><p>!${outside(group)}, listed below in its stack trace</p></li>`
}

function renderFold (group: readonly StackFrame[], editor: EditorLink | null): string {
  const sources = [...new Set(group.map(packageOf).filter((name) => name !== ''))]
  const names = sources.slice(0, 4).join(', ') + (sources.length > 4 ? ', …' : '')
  return html`<li class="fold"><details><summary>!${outside(group)} <span class="names">${names}</span></summary>
<ol>!${runs(group).map((run) => run.length >= MIN_MACHINERY
    ? `<li>… ${counted(run.length, 'frame')} of hooks and listeners, in its stack trace below</li>`
    : run.map((frame) => `<li>${frame.excerpt === undefined ? label(frame, editor, '') : renderFrame(frame, false, editor)}</li>`).join(''))}</ol></details></li>`
}

/** Runs of what walks from hook to hook, which tells nothing of a failure; every other frame by itself. */
function runs (group: readonly StackFrame[]): StackFrame[][] {
  const parted: StackFrame[][] = []
  let previous = false
  for (const frame of group) {
    const machinery = isInternal(frame.file) || HOOKS.test(frame.file)
    if (machinery && previous) parted.at(-1)?.push(frame)
    else parted.push([frame])
    previous = machinery
  }
  return parted
}

function outside ({ length }: readonly StackFrame[]): string {
  return `<span class="count">${length}</span> ${wordFor(length, 'frame')} outside your code`
}

function packageOf ({ file }: StackFrame): string {
  if (file.startsWith('node:')) return 'node'
  const inPackages = file.lastIndexOf('node_modules')
  const name = inPackages === -1 ? undefined : /^node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file.slice(inPackages))?.[1]
  return visibleLine(name ?? basename(file))
}

function renderFrame (frame: StackFrame, open: boolean, editor: EditorLink | null): string {
  if (frame.excerpt === undefined) return `<div class="frame">${label(frame, editor)}</div>`
  return `<details class="frame"${open ? ' open' : ''}><summary>${label(frame, null)}</summary>${tools(frame, editor)}${excerpt.render(frame, open ? undefined : AROUND)}</details>`
}

function renderAbove (frame: StackFrame): string {
  return `<div class="frame">${label(frame, null)} <span class="above">shown above</span></div>`
}

/** The file of a frame, where there is an editor as a link to it, and its function. */
function label (frame: StackFrame, editor: EditorLink | null, of = ' class="file"'): string {
  const name = fileName(frame)
  const href = editor?.(frame.file, frame.line, frame.column) ?? null
  const file = href === null ? `<span${of}>${name}</span>` : html`<a!${of} href="${href}">!${name}</a>`
  return `${file} <code>${text(visibleLine(frame.function))}</code>`
}

/** A file with its name, line and column set off from its folders. */
export function fileName (frame: StackFrame): string {
  if (frame.file === '') return '(no file)'
  const name = shortFile(frame.file)
  const split = Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1
  const line = frame.line > 0 ? `:${frame.line}` : ''
  const column = frame.line > 0 && frame.column > 0 ? `:${frame.column}` : ''
  return `${text(name.slice(0, split))}<b>${text(name.slice(split))}${line}</b>${column}`
}

/** What can be done with the place of a frame: open it in the editor, copy its path. */
export function tools (frame: StackFrame, editor: EditorLink | null): string {
  const href = editor?.(frame.file, frame.line, frame.column) ?? null
  const link = href === null ? '' : html`<a class="open" href="${href}">Open in editor</a> `
  return html`<p class="tools">!${link}<span class="path" data-copy="Copy path">${fullPlace(frame)}</span></p>`
}
