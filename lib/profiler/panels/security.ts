import { html } from '../../view/html.js'
import { lead, note, pairs, pairsSection, rows, rowsSection, section } from '../pages/components.js'
import { collectorPanel, isObject, listOf, type Data } from './panel.js'

const DENIED = new Set([401, 403, 429])
const AUTHENTICATOR_COLUMNS = { name: 'Authenticator', outcome: 'Outcome', reason: 'Reason' }
const VOTE_COLUMNS = { voter: 'Voter', vote: 'Vote', reason: 'Reason' }
const SESSION_ORIGINS: Readonly<Record<string, string>> = {
  new: 'new', loaded: 'loaded from the store', ended: 'ended by the request'
}

/** The user, how they were authenticated, and who decided what they may do. */
export const securityPanel = collectorPanel({
  name: 'security',
  label: 'Security',
  group: 'security',
  always: true,
  count: ({ decisions }, { collectors }) => collectors.security === undefined ? undefined : listOf(decisions).length,
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
  const who = isObject(user) ? `Logged in as ${String(user.identifier)}` : 'Not logged in'
  if (DENIED.has(status)) return lead(`${who}, denied with ${status}.`, 'bad')
  return lead(`${who}.`, isObject(user) ? 'good' : 'plain')
}

function userOf ({ user, authenticatedBy, roles, inheritedRoles }: Data): string {
  if (!isObject(user)) return note('Not logged in.')
  const { identifier, attributes } = user
  return pairs('User', {
    identifier, 'authenticated by': authenticatedBy, roles, 'inherited roles': inheritedRoles, attributes
  })
}

function decisionOf ({ by, attribute, subject, granted, strategy, votes }: Data): string {
  const about = subject === null || subject === undefined ? '' : ` of ${String(subject)}`
  return html`<h4>${`${String(attribute)}${about}: ${granted === true ? 'granted' : 'denied'}`}</h4>
<p class="facts">requested by ${String(by)}, strategy ${String(strategy)}</p>` +
    rows(`Votes on ${String(attribute)}`, VOTE_COLUMNS, listOf(votes), 'No voter voted.')
}

/** The session, without its id and values. */
export const sessionPanel = collectorPanel({
  name: 'session',
  label: 'Session',
  group: 'security',
  render: ({ used, cookie, origin, changed, saved, keys }) => {
    if (used !== true) {
      return note(cookie === true
        ? 'The client has a session; the request did not use it.'
        : 'The session was not used, and the client has none.')
    }
    return pairsSection('Session', {
      id: 'hidden',
      session: SESSION_ORIGINS[String(origin)] ?? origin,
      'cookie sent': yesNo(cookie),
      changed: yesNo(changed),
      saved: yesNo(saved)
    }) + pairsSection('Keys', keys, 'The session is empty.')
  }
})

/** Whether the page of another origin may read the response, and by which rule. */
export const corsPanel = collectorPanel({
  name: 'cors',
  label: 'CORS',
  group: 'security',
  problem: ({ allowed }) => allowed === false,
  render: ({ allowed, why, origin, preflight, rule, wanted, headers }) => {
    const verdict = allowed === true
      ? lead('The page of the other origin may read the response.', 'good')
      : allowed === false
        ? lead('The page of the other origin may not read the response.', 'bad')
        : lead('Not a cross-origin request.')
    return verdict + pairsSection('Verdict', {
      allowed: typeof allowed === 'boolean' ? yesNo(allowed) : 'not applicable',
      why,
      origin: origin ?? 'none',
      preflight: yesNo(preflight)
    }) +
      (isObject(wanted) ? pairsSection('Requested by the preflight', wanted) : '') +
      section('Rule', isObject(rule) ? pairs('Rule', rule) : note('No rule matches this path.')) +
      pairsSection('CORS headers', headers, 'None.')
  }
})

function yesNo (value: unknown): string {
  return value === true ? 'yes' : 'no'
}
