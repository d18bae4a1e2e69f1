import { basename } from 'node:path'
import type { FlattenedException, StackFrame } from '../errors/exception.js'
import { packageOf } from '../errors/stack-frame.js'
import type { EditorLink } from '../view/editor.js'
import { wordFor } from '../view/counted.js'
import { html, text } from '../view/html.js'
import { visibleLine } from '../view/visible.js'
import * as excerpt from './excerpt.js'
import { shortFile } from './shared.js'

export interface FramesView {
  editor: EditorLink | null
  /** The frame that is shown above the exceptions; without one the first frame with source is unfolded. */
  culprit: StackFrame | null
}

/** Exceptions share frames when the same frame is among so many first ones, */
const MAX_FRAMES_BEFORE = 12
/** and so many frames after it are the same. */
const MIN_SHARED = 4
const MAX_NAMES = 4
/** Lines before and after the line of a frame that is folded. */
const AROUND = 3

/** The card of the frame where the failure happened, with its source; empty without source. */
export function renderWhere (frame: StackFrame | null, editor: EditorLink | null): string {
  if (frame?.excerpt === undefined) return ''
  const name = visibleLine(frame.function)
  return html`<div class="where card">
<h2>In your code: <span class="file">!${fileName(frame)}</span> <code class="function">${name}</code></h2>
!${tools(frame, editor)}
!${excerpt.render(frame)}
</div>`
}

/** The frames of an exception. Those outside the application are folded; those shared with its cause are counted. */
export function renderFrames (
  { frames, framesDropped }: FlattenedException, cause: FlattenedException | undefined, { editor, culprit }: FramesView
): string {
  if (frames.length === 0) return '<p class="note none">It has no stack.</p>'
  const end = cause === undefined ? frames.length : sharedFrom(frames, cause.frames)
  const first = culprit === null ? frames.find((frame) => frame.own && frame.excerpt) : undefined
  const own = (frame: StackFrame): string => frame === culprit ? above(frame) : item(frame, frame === first, editor)
  const items = groups(frames.slice(0, end)).flatMap((group) =>
    group[0]?.own === true ? group.map((frame) => `<li class="own">${own(frame)}</li>`) : [fold(group, editor)])
  const left = frames.length - end
  const shared = html`<li class="fold"><p><span class="count">${left}</span> more, as in the exception before</p></li>`
  const dropped = framesDropped ? html`<p class="note none">${framesDropped} more frames are left out.</p>` : ''
  return `<ol class="frames">${items.join('')}${left > 0 ? shared : ''}</ol>${dropped}`
}

/** The index of the first frame that is also, with the frames after it, in the other stack. */
function sharedFrom (frames: readonly StackFrame[], others: readonly StackFrame[]): number {
  for (let from = 0; from < Math.min(frames.length, MAX_FRAMES_BEFORE); from++) {
    const at = others.findIndex((other) => isSame(other, frames[from] as StackFrame))
    if (at === -1) continue
    // The limit of a stack cuts off one of them earlier.
    const length = Math.min(frames.length - from, others.length - at)
    const run = frames.slice(from, from + length)
    if (length >= MIN_SHARED && run.every((frame, i) => isSame(frame, others[at + i] as StackFrame))) return from
  }
  return frames.length
}

function isSame (a: StackFrame, b: StackFrame): boolean {
  return a.line === b.line && a.column === b.column && a.file === b.file && a.function === b.function
}

/** Consecutive frames that all belong to the application, or all do not. */
function groups (frames: readonly StackFrame[]): StackFrame[][] {
  const grouped: StackFrame[][] = []
  for (const frame of frames) {
    const last = grouped.at(-1)
    if (last?.[0]?.own === frame.own) last.push(frame)
    else grouped.push([frame])
  }
  return grouped
}

function fold (group: readonly StackFrame[], editor: EditorLink | null): string {
  const sources = [...new Set(group.map(sourceOf).filter((name) => name !== ''))]
  const names = sources.slice(0, MAX_NAMES).join(', ') + (sources.length > MAX_NAMES ? ', …' : '')
  const frames = group.map((frame) =>
    frame.excerpt === undefined ? label(frame, editor, '') : item(frame, false, editor))
  return html`<li class="fold"><details>
<summary><span class="count">${group.length}</span> ${wordFor(group.length, 'frame')} outside your code
<span class="names">${names}</span></summary>
<ol>!${frames.map((frame) => `<li>${frame}</li>`)}</ol></details></li>`
}

/** The package of a frame, `node`, or the name of its file. */
function sourceOf ({ file }: StackFrame): string {
  return file.startsWith('node:') ? 'node' : visibleLine(packageOf(file) ?? basename(file))
}

function item (frame: StackFrame, open: boolean, editor: EditorLink | null): string {
  if (frame.excerpt === undefined) return `<div class="frame">${label(frame, editor)}</div>`
  return html`<details class="frame"!${open ? ' open' : ''}><summary>!${label(frame, null)}</summary>
!${tools(frame, editor)}!${excerpt.render(frame, open ? undefined : AROUND)}</details>`
}

function above (frame: StackFrame): string {
  return `<div class="frame">${label(frame, null)} <span class="above">shown above</span></div>`
}

/** The file of a frame, with an editor as a link, and its function. */
function label (frame: StackFrame, editor: EditorLink | null, attributes = ' class="file"'): string {
  const name = fileName(frame)
  const href = editor?.(frame.file, frame.line, frame.column) ?? null
  const file = href === null ? `<span${attributes}>${name}</span>` : html`<a!${attributes} href="${href}">!${name}</a>`
  return `${file} <code>${text(visibleLine(frame.function))}</code>`
}

function fileName (frame: StackFrame): string {
  if (frame.file === '') return '(no file)'
  const name = shortFile(frame.file)
  const split = Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1
  const [line, column] = position(frame)
  return html`${name.slice(0, split)}<b>${name.slice(split)}${line}</b>${column}`
}

function tools (frame: StackFrame, editor: EditorLink | null): string {
  const href = editor?.(frame.file, frame.line, frame.column) ?? null
  const link = href === null ? '' : html`<a class="open" href="${href}">Open in editor</a> `
  const path = visibleLine(frame.file) + position(frame).join('')
  return html`<p class="tools">!${link}<span class="path" data-copy="Copy path">${path}</span></p>`
}

function position ({ line, column }: StackFrame): [line: string, column: string] {
  return [line > 0 ? `:${line}` : '', line > 0 && column > 0 ? `:${column}` : '']
}
