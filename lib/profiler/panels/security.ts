import { html } from '../../view/html.js'
import { fields, lead, note, pairs, pairsSection, rows, rowsSection, section } from '../pages/components.js'
import { collectorPanel, isObject, listOf, type Data } from './panel.js'

const DENIED = new Set([401, 403, 429])
const AUTHENTICATOR_COLUMNS = { name: 'Authenticator', outcome: 'Outcome', reason: 'Reason' }
const VOTE_COLUMNS = { voter: 'Voter', vote: 'Vote', reason: 'Reason' }

/** The user, the authenticators, and the access decisions. */
export const securityPanel = collectorPanel('security', 'Security', 'security', {
  always: true,
  count: ({ decisions }) => listOf(decisions).length || undefined,
  problem: (_, { collectors, status }) => collectors.security !== undefined && DENIED.has(status),
  render: (data, { collectors, status }) => {
    const { firewall, authenticators, rule, expression, decisions } = data
    if (collectors.security === undefined) {
      return note('No firewall ran: none is configured, or the request ended before it.')
    }
    return [
      verdict(data, status),
      pairsSection('Firewall', firewall, 'No firewall protects this path.'),
      section('User', userOf(data)),
      rowsSection('Authenticators', AUTHENTICATOR_COLUMNS, listOf(authenticators), 'No authenticator ran.'),
      pairsSection('Access rule', rule, 'No rule of accessControl matches this request.'),
      pairsSection('Expression', expression, 'The route declares none.'),
      section('Decisions', listOf(decisions).map(decisionOf).join('') || note('No access decision was made.'))
    ].join('')
  }
})

function verdict ({ user }: Data, status: number): string {
  const state = isObject(user) ? `Logged in as ${String(user.identifier)}` : 'Not logged in'
  if (DENIED.has(status)) return lead(`${state}, denied with ${status}.`, 'bad')
  return lead(`${state}.`, isObject(user) ? 'good' : 'plain')
}

function userOf ({ user, authenticatedBy, roles, inheritedRoles }: Data): string {
  if (!isObject(user)) return note('Not logged in.')
  const { identifier, attributes } = user
  return pairs('User', {
    identifier, 'authenticated by': authenticatedBy, roles, 'inherited roles': inheritedRoles, attributes
  })
}

function decisionOf ({ by, attribute, subject, granted, votes }: Data): string {
  const about = subject === null || subject === undefined ? '' : ` of ${String(subject)}`
  return html`<h4>${`${String(attribute)}${about}: ${granted === true ? 'granted' : 'denied'}`}</h4>
<p class="facts">requested by ${String(by)}</p>` +
    rows(`Votes on ${String(attribute)}`, VOTE_COLUMNS, listOf(votes), 'No voter voted.')
}

/** The session, without its id and values. */
export const sessionPanel = collectorPanel('session', 'Session', 'security', {
  render: (data) => {
    if (data.used === true) return fields('Session', data)
    return note(data.cookie === true
      ? 'The client has a session; the request did not use it.'
      : 'The session was not used, and the client has none.')
  }
})

/** Whether the page of another origin may read the response, and by which rule. */
export const corsPanel = collectorPanel('cors', 'CORS', 'security', {
  problem: ({ allowed }) => allowed === false,
  render: (data) => {
    const { allowed } = data
    const verdict = typeof allowed !== 'boolean'
      ? lead('Not a cross-origin request.')
      : allowed
        ? lead('The page of the other origin may read the response.', 'good')
        : lead('The page of the other origin may not read the response.', 'bad')
    return verdict + fields('Decision', data)
  }
})
