import { basename } from 'node:path'
import { html } from '../../../view/html.js'
import { visibleLine } from '../../../view/visible.js'
import type { CodeExcerpt, FlattenedException, StackFrame } from '../../exception.js'
import { shortFile } from '../shared.js'

/** The frames of an exception: own code in the open, what lies between folded into groups with a count. */
export function renderFrames ({ frames, framesDropped }: FlattenedException): string {
  if (frames.length === 0) return html`<p class="note none">Nothing is known of where it was raised.</p>`
  const open = frames.find((frame) => frame.own && frame.excerpt)
  const items = groups(frames).map((group) => group[0]?.own === true
    ? group.map((frame) => html`<li class="own">!${renderFrame(frame, frame === open)}</li>`).join('')
    : renderFold(group))
  const dropped = framesDropped ? html`<p class="note none">${framesDropped} more frames are left out.</p>` : ''
  return html`<ol class="frames">!${items}</ol>!${dropped}`
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

function renderFold (group: readonly StackFrame[]): string {
  const sources = [...new Set(group.map(packageOf).filter((name) => name !== ''))]
  const names = sources.slice(0, 4).join(', ') + (sources.length > 4 ? ', …' : '')
  return html`<li class="fold"><details><summary><span class="count">${group.length}</span> ${group.length === 1 ? 'frame' : 'frames'} outside your code <span class="names">${names}</span></summary>
<ol>!${group.map((frame) => html`<li>!${renderFrame(frame, false)}</li>`)}</ol></details></li>`
}

function packageOf ({ file }: StackFrame): string {
  if (file.startsWith('node:')) return 'node'
  const name = /.*node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file)?.[1]
  return visibleLine(name ?? basename(file))
}

function renderFrame (frame: StackFrame, open: boolean): string {
  const label = renderLabel(frame)
  if (!frame.excerpt) return html`<div class="frame">!${label}</div>`
  return html`<details class="frame"!${open ? ' open' : ''}><summary>!${label}</summary>!${renderExcerpt(frame.excerpt, frame.line)}</details>`
}

function renderLabel (frame: StackFrame): string {
  const name = shortFile(frame.file)
  const split = Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1
  const line = frame.line > 0 ? `:${frame.line}` : ''
  const column = frame.line > 0 && frame.column > 0 ? `:${frame.column}` : ''
  const file = frame.file === ''
    ? html`<span class="file">(no file)</span>`
    : html`<span class="file">${name.slice(0, split)}<b>${name.slice(split)}</b><b class="line">${line}</b>${column}</span>`
  return html`!${file} <code class="function">${visibleLine(frame.function)}</code>`
}

function renderExcerpt ({ start, lines }: CodeExcerpt, marked: number): string {
  const rows = lines.map((line, i) => {
    const number = start + i
    return number === marked
      ? html`<mark><span class="number"><span class="arrow">→ </span>${number}</span><span class="source">${line + '\n'}</span></mark>`
      : html`<span><span class="number">${number}</span><span class="source">${line + '\n'}</span></span>`
  })
  return html`<pre class="excerpt"><code>!${rows}</code></pre>`
}
