import type { EditorLink } from '../view/editor.js'
import type { Representation } from './negotiate.js'
import { encodeHtml, renderHtml, type Nonce } from '../error-page/render-html.js'
import { renderJson } from '../error-page/render-json.js'
import { renderMarkdown } from '../error-page/render-markdown.js'
import { renderText } from '../error-page/render-text.js'
import type { ErrorReport } from './report.js'

/** Tells a report in the form that was negotiated; the nonce is that of the page's own policy, the editor that of its links. */
export function renderReport (report: ErrorReport, type: Representation['type'], nonce: Nonce, editor: EditorLink | null = null): string {
  switch (type) {
    case 'html': return renderHtml(report, nonce, editor)
    case 'json': return renderJson(report)
    case 'text': return renderText(report)
    case 'markdown': return renderMarkdown(report)
  }
}

/** The same as it is sent: the page as octets, of which most are those of pages before. */
export function encodeReport (report: ErrorReport, type: Representation['type'], nonce: Nonce, editor: EditorLink | null = null): string | Buffer {
  return type === 'html' ? encodeHtml(report, nonce, editor) : renderReport(report, type, nonce, editor)
}
