import t from 'tap'
import { problemsOf } from '../../../packages/hindsight/src/parts/read.js'
import { security as securityPanel } from '../../../lib/parts/security.js'
import { profile } from '../../../packages/hindsight/test/parts/fixture.js'
import { shown as panelOf } from '../../../packages/hindsight/test/parts/support.js'
import { HOSTILE } from '../../../packages/hindsight/test/parts/hostile.js'

const data = {
  firewall: { name: 'main', pattern: '/', security: true },
  authenticators: [{ name: 'basic', outcome: 'succeeded' }, { name: 'session', outcome: 'not supported' }],
  user: { identifier: 'ada', attributes: { age: 36 } },
  authenticatedBy: 'basic',
  roles: ['ROLE_ADMIN'],
  inheritedRoles: ['ROLE_USER'],
  rule: { index: 1, path: '/admin', methods: [], ips: [], roles: ['ROLE_ADMIN'], granted: true },
  decisions: [
    {
      by: 'access_control', attribute: 'ROLE_ADMIN', subject: null, granted: true, votes: [{ voter: 'role', vote: 'granted', reason: 'the user has the role' }]
    },
    {
      by: 'is-granted', attribute: 'EDIT', subject: 'Article 7', granted: false, votes: [{ voter: 'ArticleVoter', vote: 'denied', reason: 'the author is bob' }]
    }
  ],
  expression: null
}

const shown = (security: unknown) => panelOf(securityPanel, profile('000001', { collectors: { security } }))
const texts = (root: ParentNode, selector: string) => [...root.querySelectorAll(selector)].map(element => element.textContent?.replace(/\s+/g, ' ').trim())

t.test('the panel has the user, the authenticators and the votes', async t => {
  const root = shown(data)
  t.same(texts(root, 'h3'), ['Firewall', 'User', 'Authenticators', 'Access rule', 'Expression', 'Decisions'])
  t.same(
    texts(root, '[aria-label="User"] tr'), ['identifierada', 'authenticated bybasic', 'rolesROLE_ADMIN', 'inherited rolesROLE_USER', 'attributes{ "age": 36 }']
  )
  t.same(texts(root, 'table[aria-label="Authenticators"] tbody tr td'), ['basic', 'succeeded', '', 'session', 'not supported', ''])
  t.same(texts(root, 'table[aria-label="Decisions"] tbody td'), [
    'ROLE_ADMIN', '', 'true', 'access_control', 'role', 'granted', 'the user has the role',
    'EDIT', 'Article 7', 'false', 'is-granted', 'ArticleVoter', 'denied', 'the author is bob'
  ])
  t.match(root.textContent, /The route declares none\./)
})

t.test('the menu marks a refusal', async t => {
  const of = (status: number) => profile('000001', { status, collectors: { security: data } })
  t.same([200, 401, 403, 404, 429].map(status => problemsOf(securityPanel, of(status)).errors === 1), [false, true, true, false, true])
  t.equal(problemsOf(securityPanel, profile('000001', { status: 403 })).errors, 0, 'a refusal by another component')
})

t.test('missing, broken and hostile data is shown safely', async t => {
  t.match(panelOf(securityPanel, profile('000001')).textContent, 'No firewall ran: none is configured, or the request ended before it.')
  t.match(shown({ error: 'no' }).textContent, 'The collector failed: no')
  t.match(
    shown({ firewall: null, decisions: 'x', authenticators: [null, 1] }).textContent,
    /No firewall protects this path\..*Not logged in\.[^]*No authenticator ran\./
  )
  const hostile = shown({
    ...data,
    user: { identifier: HOSTILE },
    decisions: [{ attribute: HOSTILE, subject: HOSTILE, votes: [{ reason: HOSTILE }] }],
    expression: { expression: HOSTILE }
  })
  t.equal(hostile.querySelectorAll('script, img, svg').length, 0)
  t.match(hostile.textContent, '<script>alert(1)</script>')
  t.notMatch(hostile.textContent, /[\0\u001b\u202e]/)
})
