import { createHash } from 'node:crypto'
import type { SecuritySettings } from '../../lib/options.js'
import type { StoredUser } from '../../lib/security/users.js'
import type { Voter } from '../../lib/security/voters.js'
import type { Article } from './store.js'

// The SHA-256 of "a-token-of-ada-for-the-tour".
const TOKENS = new Map([['29c90c01aaaecef25a784bea28fdd30a63bbefed3909ad72f35354c4235c0ba0', 'ada']])

// Everybody's password is their name. Hashes are made as docs/how-to/login.md says.
const users: StoredUser[] = [
  {
    identifier: 'ada',
    password: '$argon2id$v=19$m=19456,t=2,p=1$+tXXhUjDB4TAnJFJKl5tWg$korx2JeCXDrK99w2/DzTSPblc8JOFwcNJG+HqTZxOos',
    roles: ['ROLE_AUTHOR']
  },
  {
    identifier: 'grace',
    password: '$argon2id$v=19$m=19456,t=2,p=1$lbIqAa1AZFDvj+FIyfc96Q$Pokroeoj6BUsxiBBw4yPIm1KBt0cxMP+FRyeRsercx0',
    roles: ['ROLE_EDITOR']
  },
  {
    identifier: 'rita',
    password: '$argon2id$v=19$m=19456,t=2,p=1$ZxcuekWehK/9pbrDnUkezA$fM+Qrpow7dTlAZAAvQShcfpAIUA1xCggHI9d6kpN860',
    roles: ['ROLE_USER']
  }
]

/** Only the author may change an article or delete it. */
export const articleVoter: Voter = {
  name: 'article',
  supports: (attribute, subject) => (attribute === 'EDIT' || attribute === 'DELETE') && isArticle(subject),
  vote (_attribute, subject, { user }) {
    const { author } = subject as Article
    return { granted: author === user?.identifier, reason: `the author is ${author}` }
  }
}

/** Two ways in: programs bring their credentials with each request, people log in once. */
export const security: SecuritySettings = {
  providers: { people: { users } },
  firewalls: [
    { name: 'static', pattern: '/style.css', security: false },
    {
      name: 'api',
      pattern: '/api',
      authenticators: {
        basic: { realm: 'Articles' },
        bearer: { realm: 'Articles', verify: (token) => TOKENS.get(createHash('sha256').update(token).digest('hex')) ?? null }
      }
    },
    { name: 'main', authenticators: { login: true }, logout: true }
  ],
  roleHierarchy: { ROLE_EDITOR: ['ROLE_AUTHOR'], ROLE_AUTHOR: ['ROLE_USER'] },
  // Ahead of the body: who may not write is not read.
  accessControl: [{ path: '/api', methods: ['POST', 'PUT', 'DELETE'], roles: 'ROLE_AUTHOR' }],
  voters: [articleVoter]
}

function isArticle (subject: unknown): subject is Article {
  return typeof subject === 'object' && subject !== null && 'author' in subject
}
