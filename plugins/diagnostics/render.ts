import type { Representation } from './negotiate.js'
import { renderHtml, type Nonce } from './page/render-html.js'
import { renderJson } from './page/render-json.js'
import { renderMarkdown } from './page/render-markdown.js'
import { renderText } from './page/render-text.js'
import type { ErrorReport } from './report.js'

/** Tells a report in the form that was negotiated; the nonce is that of the page's own policy. */
export function renderReport (report: ErrorReport, type: Representation['type'], nonce: Nonce): string {
  switch (type) {
    case 'html': return renderHtml(report, nonce)
    case 'json': return renderJson(report)
    case 'text': return renderText(report)
    case 'markdown': return renderMarkdown(report)
  }
}
