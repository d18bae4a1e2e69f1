import { style as readStyle } from '../../view/style.js'
import type { StackFrame } from '../../errors/exception.js'
import { highlight } from './highlight.js'

/** How source looks. */
export const style = readStyle(import.meta.url, './style.css')

/** The lines of source around a frame, its own line and what stands at its column marked; nothing where they are not known. */
export function render ({ excerpt, file, line, column }: StackFrame, around = Infinity): string {
  if (excerpt === undefined) return ''
  const start = Math.max(excerpt.start, line - around)
  const lines = excerpt.lines.slice(start - excerpt.start, line - excerpt.start + around + 1)
  const shown = highlight(lines, file, column > 0 ? { line: line - start, column } : null)
  let rows = ''
  for (let i = 0; i < shown.length; i++) {
    const number = start + i
    rows += number === line
      ? `<mark><span class="number"><span class="arrow">→ </span>${number}</span><span class="source">${shown[i]}\n</span></mark>`
      : `<span><span class="number">${number}</span><span class="source">${shown[i]}\n</span></span>`
  }
  return `<pre class="excerpt"><code>${rows}</code></pre>`
}
