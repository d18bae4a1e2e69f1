import {
  definePart, flattenPaths, isObject, listOf, noteText, pairsSection, rowsSection, type Data
} from 'fastify-hindsight/recorder'

const DENIED = new Set([401, 403, 429])
const AUTHENTICATOR_COLUMNS = { name: 'Authenticator', outcome: 'Outcome', reason: 'Reason' }
const DECISION_COLUMNS = {
  attribute: 'Attribute', subject: 'Subject', granted: 'Granted', by: 'By', voter: 'Voter', vote: 'Vote', reason: 'Why'
}

/** The user, the authenticators, and the access decisions. */
export const security = definePart<() => unknown>({
  name: 'security',
  ofRequests: true,
  from: 'request',
  panel: {
    label: 'Security',
    group: 'request',
    always: true,
    count: (_, { collectors }) => collectors.security === undefined ? 0 : undefined,
    problem: (_, { collectors, status }) => collectors.security !== undefined && DENIED.has(status),
    render: (data, { collectors }) => {
      const { firewall, authenticators, user, rule, expression, decisions } = data
      if (collectors.security === undefined) {
        return noteText('No firewall ran: none is configured, or the request ended before it.')
      }
      return [
        pairsSection('Firewall', firewall, 'No firewall protects this path.'),
        pairsSection('User', isObject(user) ? userFields(user, data) : {}, 'Not logged in.'),
        rowsSection('Authenticators', AUTHENTICATOR_COLUMNS, listOf(authenticators), 'No authenticator ran.'),
        pairsSection('Access rule', rule, 'No rule of accessControl matches this request.'),
        pairsSection('Expression', expression, 'The route declares none.'),
        rowsSection('Decisions', DECISION_COLUMNS, listOf(decisions).flatMap(votesOf), 'No access decision was made.')
      ]
    }
  },
  comparison: [{ order: 60 }],
  differences: [{
    order: 80,
    values: ({ user, roles }) => flattenPaths({ ...Object(user) as object, roles }, 'user')
  }]
})

function userFields ({ identifier, attributes }: Data, { authenticatedBy, roles, inheritedRoles }: Data): Data {
  return { identifier, 'authenticated by': authenticatedBy, roles, 'inherited roles': inheritedRoles, attributes }
}

function votesOf ({ votes, ...decision }: Data): Data[] {
  const all = listOf(votes)
  return all.length === 0 ? [decision] : all.map((vote) => ({ ...decision, ...vote }))
}
