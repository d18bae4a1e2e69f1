import type { Nonces } from '../http/responses.js'
import type { Representation } from '../http/requests.js'
import type { EditorLink } from '../view/editor.js'
import { safeJson } from '../view/text.js'
import { reasonOf, rejectedIn, summaryIn, type FailureProfile } from './failure-profile.js'
import { renderHtml } from './render-html.js'
import { detailOf, renderText } from './render-text.js'

/** Renders a failure; plain text is Markdown. HTML needs the nonces of its policy; `editor` makes links to source. */
export function renderFailure (
  failure: FailureProfile, type: Representation['type'], nonce: Nonces, editor: EditorLink | null = null
): string {
  if (type === 'html') return String(renderHtml(failure, nonce, editor))
  if (type === 'json') return renderJson(failure)
  return renderText(failure)
}

/** The failure as a problem document (RFC 9457), with extension members. */
function renderJson (failure: FailureProfile): string {
  const { status, url, exceptions, logs, logsOmitted, hints, sentences, raisedBy, route, token, profileUrl } = failure
  // The path stays as the client sent it, unlike that of a parsed URL.
  const instance = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*([^?#]+)/i.exec(url)?.[1]
  return safeJson({
    type: 'about:blank',
    title: reasonOf(failure),
    detail: detailOf(failure),
    instance,
    status,
    exceptions,
    logsOmitted,
    hints,
    sentences,
    ...summaryIn(failure),
    input: rejectedIn(failure),
    raisedBy,
    controller: route?.controller,
    ...profileUrl !== undefined && { profile: { token, url: profileUrl } },
    // Each context by itself: one that cannot be serialized must not replace the document.
    logs: logs.map((record) => ({ ...record, context: JSON.parse(safeJson(record.context)) as unknown }))
  }, 2).replaceAll('<', '\\u003c')
}
