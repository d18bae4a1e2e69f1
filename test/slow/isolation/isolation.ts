import { Agent, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as soon, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Profile } from '../../../packages/hindsight/src/store/profile.js'
import { build, SECRET } from '../../../packages/hindsight/test/support/app.js'

declare module 'fastify' {
  interface Session {
    mark?: string
  }
}

export interface IsolationFigures {
  requests: number
  seconds: number
  /** How many of them were in the service at once, at most. */
  atOnce: number
  profiles: number
  /** Profiles whose token was drawn again. */
  replaced: number
  statuses: Record<string, number>
}

const LOCALES = ['en', 'de', 'fr', 'pl', 'ja', 'pt-BR']
const AT_ONCE = 100

interface Visitor {
  n: number
  /** The text that no other answer, log or profile may contain. */
  mark: string
  locale: string
  cookie: string
}

interface Seen { user: string | null, locale: string, service: string, nonce: string, session: string | null, param: string }

/**
 * Sends requests of as many visitors that are interleaved in the service, each twice; rejects at the first that has
 * anything of another in its answer or its profile.
 */
export async function isolate ({ requests, seed }: { requests: number, seed: number }): Promise<IsolationFigures> {
  const random = generator(seed)
  let [now, atOnce] = [0, 0]
  const app = await build({
    debug: true,
    session: { secret: SECRET },
    enabledLocales: LOCALES,
    localeAwareServices: { words: (locale: string) => ({ locale }) },
    contentSecurityPolicy: { enforce: { 'default-src': ["'self'"] } },
    security: {
      firewalls: [
        { name: 'main', authenticators: { bearer: { verify: async (token) => { await pause(); return { identifier: token, roles: [`ROLE_${token}`] } } } } }
      ],
      accessControl: [{ path: '/', roles: 'IS_AUTHENTICATED' }]
    },
    profiler: { storage: 'memory', maxProfiles: requests * 2, maxQueue: requests * 2 },
    // The lines of the application count too: they go nowhere else.
    server: { logger: { level: 'info', stream: { write () {} } } },
    declare
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const figures: IsolationFigures = { requests: 0, seconds: 0, atOnce: 0, profiles: 0, replaced: 0, statuses: {} }
  // Twice the number that is expected of six random hexadecimal digits, and some.
  const mayBeReplaced = 10 + requests ** 2 / 2 ** 24
  const nonces = new Set<string>()
  const tokens = new Map<string, Visitor>()
  const startedAt = performance.now()
  try {
    const visitors = Array.from(
      { length: Math.ceil(requests / 2) }, (_, n): Visitor => ({ n, mark: `mark-${n}-`, locale: LOCALES[n % LOCALES.length] as string, cookie: '' })
    )
    for (const round of [0, 1]) {
      const waiting = [...visitors]
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        for (let visitor = waiting.pop(); visitor !== undefined; visitor = waiting.pop()) await visit(visitor, round)
      }))
    }
    for (const [token, visitor] of tokens) {
      const profile = await app.hindsight.profiler.find(token)
      if (profile === undefined) throw new Error(`${visitor.mark}: its profile ${token} is not there`)
      judgeProfile(profile, visitor)
      figures.profiles++
    }
    return { ...figures, atOnce, seconds: Math.round((performance.now() - startedAt) / 100) / 10 }
  } finally {
    agent.destroy()
    await app.close()
  }

  function declare (app: FastifyInstance): void {
    app.get('/:_locale/visits/:mark', async (request, reply) => {
      atOnce = Math.max(atOnce, ++now)
      try {
        const { mark } = request.params as { mark: string }
        const before = seen(request, reply.cspNonce.script)
        request.log.info({ of: mark }, `begun by ${mark}`)
        request.addLink('preload', `/${mark}.css`, { as: 'style' })
        await pause()
        // By the asynchronous context alone.
        app.log.warn(`gone on by ${mark}`)
        request.session.mark = mark
        await pause()
        const fails = mark.endsWith('3-')
        if (fails) throw new Error(`failed for ${mark}`)
        const granted = await request.isGranted(`ROLE_${request.user?.identifier}`)
        await pause()
        return { before, after: seen(request, reply.cspNonce.script), granted }
      } finally {
        now--
      }
    })
  }

  async function visit (visitor: Visitor, round: number): Promise<void> {
    const { mark, locale } = visitor
    const answer = await ask({
      port,
      agent,
      path: `/${locale}/visits/${mark}?of=${mark}`,
      headers: {
        accept: 'application/json', authorization: `Bearer ${mark}`, 'x-of': mark, ...(visitor.cookie !== '' && { cookie: visitor.cookie })
      }
    })
    figures.requests++
    figures.statuses[answer.status] = (figures.statuses[answer.status] ?? 0) + 1
    const complain = (what: string): never => {
      throw new Error(`${mark}, round ${round}: ${what}: ${answer.text.slice(0, 600)} ${JSON.stringify(answer.headers)}`)
    }
    const strange = strangeMark(answer.text + JSON.stringify(answer.headers), mark)
    if (strange !== undefined) complain(`the answer has ${strange}`)
    const token = String(answer.headers['x-debug-token'])
    // Tokens are drawn without a check: a newer profile may replace an older one (docs/explanation/storage.md#tokens).
    if (tokens.has(token) && ++figures.replaced > mayBeReplaced) complain('its profile is another\'s')
    tokens.set(token, visitor)
    visitor.cookie = [answer.headers['set-cookie']].flat().map((cookie) => String(cookie).split(';', 1)[0]).find(
      (cookie) => cookie?.startsWith('sessionId=')
    ) ?? visitor.cookie
    if (mark.endsWith('3-')) return answer.status === 500 && answer.text.includes(`failed for ${mark}`) ? undefined : complain('it ought to fail for itself')
    const { before, after, granted } = JSON.parse(answer.text) as { before: Seen, after: Seen, granted: boolean }
    const expected = { user: mark, locale, service: locale, param: mark }
    for (const [name, value] of Object.entries(expected)) {
      if (before[name as keyof Seen] !== value || after[name as keyof Seen] !== value) complain(`${name} is not ${value}`)
    }
    if (before.session !== (round === 0 ? null : mark) || after.session !== mark) complain('the session is not its own')
    if (before.nonce !== after.nonce || nonces.has(before.nonce)) complain('the nonce is not its own')
    if (!String(answer.headers['content-security-policy']).includes(`'nonce-${before.nonce}'`)) complain('the policy has not its nonce')
    nonces.add(before.nonce)
    if (answer.headers.link !== `</${mark}.css>; rel=preload; as=style` && !String(answer.headers.link).includes(`/${mark}.css`)) {
      complain('the link is not its own')
    }
    if (!granted) complain('it has not its own role')
  }

  async function pause (): Promise<void> {
    const length = random() * 4
    if (length < 1) await soon()
    else await sleep(length)
  }
}

function seen (request: FastifyRequest, nonce: string): Seen {
  const { words } = request.services as unknown as { words: { locale: string } }
  return {
    user: request.user?.identifier ?? null,
    locale: request.locale,
    service: words.locale,
    nonce,
    session: request.session.mark ?? null,
    param: (request.params as { mark: string }).mark
  }
}

function strangeMark (text: string, own: string): string | undefined {
  return text.match(/mark-\d+-/g)?.find((mark) => mark !== own)
}

function judgeProfile (profile: Profile, { mark, locale }: Visitor): void {
  const text = JSON.stringify(profile)
  const strange = strangeMark(text, mark)
  if (strange !== undefined) throw new Error(`The profile of ${mark} has ${strange}`)
  const messages = profile.logs.map(({ message }) => message)
  for (const expected of [`begun by ${mark}`, `gone on by ${mark}`]) {
    if (messages.filter((message) => message === expected).length !== 1) {
      throw new Error(`The profile of ${mark} has not its line "${expected}": ${messages.join(' | ')}`)
    }
  }
  if (!text.includes('"/:_locale/visits/:mark"') || !text.includes(`/${locale}/visits/${mark}`)) {
    throw new Error(`The profile of ${mark} has another route or locale`)
  }
}

interface Answer { status: number, headers: Record<string, unknown>, text: string }

function ask (options: { port: number, agent: Agent, path: string, headers: Record<string, string> }): Promise<Answer> {
  return new Promise((resolve, reject) => {
    send({ host: '127.0.0.1', ...options }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => { text += String(chunk) }).on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    }).on('error', reject).end()
  })
}

// Mulberry32: the same delays by the same seed.
function generator (seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let value = Math.imul(state ^ (state >>> 15), state | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
}
