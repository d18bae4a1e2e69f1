import { html, visibleLine, type SafeHtml } from '../../view/text.js'
import { MASKED } from '../../mask/mask.js'
import type { Part } from '../../parts/part.js'
import type { Profile } from '../../store/profile.js'
import { indentedJson, textOf, type RequestText } from '../replay/edited.js'
import { replayProblem } from '../replay/replay.js'
import { isSafe, storedRequest } from '../replay/stored-request.js'
import { noteText, postForm, titledSection } from '../../view/components.js'
import { pageLayout, type PageOptions } from './layout.js'

/** The request of a profile as it will be sent, without its masked values; of no token where it is no replay. */
export function replayView (profile: Profile, formToken: string, base: string) {
  const { bodyProblem: missingBody, ...stored } = storedRequest(profile, () => MASKED)
  const { method, target, headers, body, masked, notes } = stored
  const problem = replayProblem(stored, base)
  return {
    token: profile.token,
    formToken,
    request: { method, target, headers, ...(body !== undefined && { body }) },
    safe: isSafe(method),
    masked,
    // What differs from the original request.
    notes,
    ...(missingBody !== undefined && { missingBody }),
    ...(problem !== undefined && { problem })
  }
}

export type ReplayView = ReturnType<typeof replayView>

/** Parts may have boxes in the form, of which those in `chosen` are checked. */
type ReplayOptions = PageOptions & { parts: readonly Part[], chosen: Readonly<Record<string, unknown>> }

/** Fields that were sent, and have to be confirmed or changed. */
interface SentFields {
  text: RequestText
  values: Readonly<Record<string, unknown>>
  /** Why the request was not sent. */
  reason: string
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']
const MIN_LINES = 3
const MAX_LINES = 16

/** The form that shows a request, in which masked values are entered, and that sends it. */
export function replayPage (view: ReplayView, options: ReplayOptions, sent?: SentFields): SafeHtml {
  const { token, request, problem, notes } = view
  const { base } = options
  const reason = problem === undefined ? sent?.reason : `The request cannot be replayed: ${problem}`
  const failure = reason !== undefined && html`<p class="failure" role="alert">${reason}</p>`
  const { method, url, headers, body } = textOf(request)
  const message = [`${method} ${url}`]
  if (headers !== '') message.push(headers)
  if (body !== '') message.push('', indentedJson(body))
  const original = html`<pre class="data sent">${message.join('\n')}</pre>`
  const list = html`<ul>${notes.map((one) => html`<li>${one}</li>`)}</ul>`
  let title = 'Try a route'
  let intro = noteText('The request is sent in this process, not over the network. Its profile is shown then.')
  if (token !== '') {
    title = `Replay ${token}`
    intro = html`<p class="note">The request of the profile <a href="${base}/${token}">${token}</a> is replayed
in this process, not over the network. The new profile is compared with this one.</p>`
  }
  const beside = html`<div>${titledSection('The original request', original, '', 2)}
${notes.length > 0 && titledSection('Differences from the original', list, '', 2)}</div>`
  return pageLayout(options, title, html`<main id="content" class="replay">
<h1>${token === '' ? title : 'Replay'}</h1>
${intro}
${failure}
<div class="compared">${problem === undefined && titledSection('Send', form(view, options, sent), '', 2)}
${token !== '' && beside}</div>
</main>`)
}

function form (view: ReplayView, { base, parts, chosen }: ReplayOptions, sent?: SentFields): SafeHtml {
  const { token, formToken, request, masked, missingBody } = view
  const { method, url, headers, body } = sent?.text ?? textOf(request)
  const fields = masked.map(({ name, required }) =>
    html`<label class="masked-value"><span>${visibleLine(name)}</span> \
<input type="text" name="value.${name}" value="${String(sent?.values[`value.${name}`] ?? '')}" \
spellcheck="false"${required && ' required'}></label>`)
  const action = token === '' ? 'Send' : 'Replay'
  const isChosen = (name: string): string => chosen[name] === '1' ? ' checked' : ''
  const check = (name: string, text: string, attribute = isChosen(name)): SafeHtml =>
    html`<label class="${name}"><input type="checkbox" name="${name}" value="1"${attribute}> ${text}</label>`
  const boxes = parts.map(({ name, replay }) => replay && check(name, replay.label))
  const warning = `${action} this ${method}, which may have side effects`
  const missing = `The profile does not have the whole body: ${missingBody}. Paste the body that is to be sent.`
  const methods = METHODS.map((one) => html`<option value="${one}"></option>`)
  // The button is on the first screen, whatever the request has.
  return postForm(token === '' ? `${base}/routes/try` : `${base}/${token}/replay`, formToken, html`
<div class="request-line"><label><span>Method</span> \
<input type="text" name="method" value="${method}" list="methods" size="8" required></label>
<datalist id="methods">${methods}</datalist><label><span>URL</span> \
<input type="text" name="url" value="${url}" spellcheck="false" required></label>
<button type="submit">${action}</button></div>
${!isSafe(method) && check('confirm', warning, ' required')}${token !== '' && boxes}
${masked.length > 0 && noteText('These values are masked in the profile. Empty values are not sent.')}${fields}
${missingBody !== undefined && html`<p class="warning">${missing}</p>`}
${area('Body', 'body', indentedJson(body), missingBody !== undefined)}
${area('Headers', 'headers', headers)}`)
}

// A parser of HTML leaves out the line break at the beginning.
function area (label: string, name: string, text: string, isRequired = false): SafeHtml {
  const lines = Math.min(MAX_LINES, Math.max(MIN_LINES, text.split('\n').length))
  return html`<label><span>${label}</span> <textarea name="${name}" rows="${lines}" \
spellcheck="false"${isRequired && ' required'}>
${text}</textarea></label>`
}
