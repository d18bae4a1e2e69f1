import { html } from '../../../view/html.js'
import type { Profile } from '../../profile.js'
import { failed, lead, note, pairs, rows, section } from '../../pages/components.js'
import { dataOf, failureOf, isObject, listOf } from '../panel.js'
import type { Data, Panel } from '../panel.js'

const REFUSED = new Set([401, 403, 429])

/** Who sent the request, how that was found out, and who decided what they may. */
export const securityPanel: Panel = {
  name: 'security',
  label: 'Security',
  group: 'security',
  always: true,
  count: profile => profile.collectors.security === undefined ? undefined : listOf(dataOf(profile, 'security').decisions).length,
  problem: profile => failureOf(profile, 'security') !== undefined || (profile.collectors.security !== undefined && REFUSED.has(profile.status)),
  render: renderSecurity
}

function renderSecurity (profile: Profile): string {
  const failure = failureOf(profile, 'security')
  if (failure !== undefined) return failed(failure)
  if (profile.collectors.security === undefined) return note('No firewall was asked: none is configured, or the request ended before.')
  const data = dataOf(profile, 'security')
  return [
    verdict(data, profile.status),
    section('Firewall', pairs('Firewall', data.firewall, 'No firewall is in front of this path.')),
    section('User', userOf(data)),
    section('Authenticators', rows('Authenticators', { name: 'name', outcome: 'outcome', reason: 'reason' }, listOf(data.authenticators), 'None was tried.')),
    section('Access rule', pairs('Access rule', data.rule, 'No rule of accessControl holds for this request.')),
    section('Expression', pairs('Expression', data.expression, 'The route declares none.')),
    section('Decisions', listOf(data.decisions).map(decision).join('') || note('Nobody asked the voters.'))
  ].join('')
}

function verdict ({ user }: Data, status: number): string {
  const who = isObject(user) ? `Logged in as ${String(user.identifier)}` : 'Nobody is logged in'
  return REFUSED.has(status) ? lead(`${who}, and refused with ${status}.`, 'bad') : lead(`${who}.`, isObject(user) ? 'good' : 'plain')
}

function userOf ({ user, authenticatedBy, roles, inheritedRoles }: Data): string {
  if (!isObject(user)) return note('Nobody is logged in.')
  return pairs('User', { identifier: user.identifier, 'authenticated by': authenticatedBy, roles, 'inherited roles': inheritedRoles, attributes: user.attributes })
}

function decision ({ by, attribute, subject, granted, strategy, votes }: Data): string {
  const about = subject === null || subject === undefined ? '' : ` of ${String(subject)}`
  const title = `${String(attribute)}${about}: ${granted === true ? 'granted' : 'denied'}`
  return html`<h4>${title}</h4><p class="facts">asked by ${String(by)}, counted as ${String(strategy)}</p>` +
    rows(`Votes on ${String(attribute)}`, { voter: 'voter', vote: 'vote', reason: 'reason' }, listOf(votes), 'Nobody voted.')
}
