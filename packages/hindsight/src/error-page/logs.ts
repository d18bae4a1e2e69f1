import { isErrorOrWorse, isNotification, stacksLast, type LogRecord } from '../logs/log-record.js'
import { readAsset } from '../view/asset.js'
import { foldedContent, formatTime, placeElement, markupTable } from '../view/components.js'
import type { EditorLink } from '../view/editor.js'
import { cutText, html, safeJson, timeOfDay, type HtmlValue, type SafeHtml } from '../view/text.js'

export const style = readAsset(import.meta.url, './logs.css')

/**
 * The table of log lines, on the error page and in profiles; `limit`: characters of a message, and of its fields;
 * `late`: the heading of the lines after `end`, in milliseconds.
 */
export function logTable (
  lines: readonly LogRecord[], editor: EditorLink | null, limit = Infinity, late = { end: Infinity, title: '' }
): SafeHtml {
  const first = lines.find(isErrorOrWorse)
  const firstLate = lines.find(({ offset = 0 }) => offset > late.end)
  const rows = lines.map((line) => {
    const { time, offset, level, channel, message, context, source } = line
    const classes = `log log-${level}${isNotification(line) ? ' event' : ''}`
    const from = source !== undefined &&
      html` <small>${placeElement(source.replace(/(:\d+):\d+$/, '$1'), editor)}</small>`
    const text = cutText(String(message), limit) || '(no message)'
    const divider = line === firstLate && html`<tr class="stage"><th colspan="4">${late.title}</th></tr>`
    return html`${divider}<tr class="${classes}"${line === first && html` id="first-error"`}>
<td><time datetime="${time}">${timeOfDay(String(time))}</time>\
${offset !== undefined && html` <small>+${formatTime(offset)}</small>`}</td>
<td><span class="level">${level}</span></td><td>${channel}</td>
<td class="text"><span>${text}</span>${from}${contextOf(context, limit)}</td></tr>
`
  })
  return markupTable('Log lines', ['Time', 'Level', 'Channel', 'Message'], rows, 'rows logs')
}

function contextOf (context: unknown, limit: number): HtmlValue {
  const names = Object.keys(Object(context) as object)
  // As JSON, with the line breaks of texts such as stacks.
  const fields = safeJson(stacksLast(context), 2).replace(/(?<!\\)((?:\\\\)*)\\n/g, '$1\n      ')
  if (names.length === 0) return false
  return foldedContent(cutText(names.join(', '), 80), html`<pre class="data">${cutText(fields, limit)}</pre>`)
}
