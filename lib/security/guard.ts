import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer } from '../lifecycle/listener.js'
import { stateOf } from '../lifecycle/request-state.js'
import type { CompiledRule } from './access-control.js'
import type { Authenticator } from './authenticators/authenticator.js'
import type { SecurityContext } from './context.js'
import { refuse, refuseCredentials } from './entry-point.js'
import { AuthenticationError, INVALID_CREDENTIALS } from './errors.js'
import type { Firewall } from './firewall.js'
import type { Security } from './security.js'
import { keepLogin, peekLogin, stampOf } from './session-login.js'
import type { StoredUser } from './user.js'

const kSession = { name: 'session' }

/** Finds out who sent a request: by the credentials that it brings, else by its session. */
export async function recognise (security: Security, context: SecurityContext, firewall: Firewall, request: FastifyRequest): Promise<void> {
  const { record } = context
  let outcome: Authenticator | null = null
  for (const authenticator of firewall.authenticators) {
    const supported = outcome === null && authenticator.supports(request)
    record?.authenticators.push({ name: authenticator.name, outcome: outcome !== null ? 'not reached' : 'not supported' })
    if (!supported) continue
    outcome = authenticator
    await authenticate(security, context, firewall, authenticator, request)
  }
  if (firewall.login === null) return
  if (outcome !== null) record?.authenticators.push({ name: kSession.name, outcome: 'not reached' })
  else await recall(security, context, firewall, request)
}

async function authenticate (security: Security, context: SecurityContext, firewall: Firewall, authenticator: Authenticator, request: FastifyRequest): Promise<void> {
  const attempt = context.record?.authenticators.at(-1)
  try {
    const user = await userBehind(firewall, await authenticator.authenticate(request))
    context.login(user, authenticator, security.rolesOf)
    stateOf(request).credentialsUsed = true
    if (attempt !== undefined) attempt.outcome = 'succeeded'
    request.log.debug({ channel: 'security', authenticator: authenticator.name, user: user.identifier }, 'Authenticator succeeded.')
  } catch (error) {
    const refused = error instanceof AuthenticationError
    const reason = refused ? AuthenticationError.reasonOf(error) : (error as Error)?.message ?? String(error)
    if (attempt !== undefined) Object.assign(attempt, { outcome: 'failed', reason })
    request.log.info({ channel: 'security', authenticator: authenticator.name }, 'Authenticator failed.')
    throw refused ? refuseCredentials(error, firewall, security.cookieName) : error
  }
}

async function userBehind ({ provider }: Firewall, found: StoredUser | string | null): Promise<StoredUser> {
  const user = typeof found === 'string' ? await provider?.load(found) ?? null : found
  if (user === null) throw new AuthenticationError(INVALID_CREDENTIALS).because(typeof found === 'string' ? 'no such user' : 'nobody has these credentials')
  return user
}

// The session says who logged in; the provider says who that is today.
async function recall (security: Security, context: SecurityContext, firewall: Firewall, request: FastifyRequest): Promise<void> {
  const { record } = context
  const kept = peekLogin(request, firewall.name, security.cookieName)
  if (kept === null) {
    record?.authenticators.push({ ...kSession, outcome: 'not supported' })
    return
  }
  context.sessionRead = true
  if (kept.user === undefined) {
    record?.authenticators.push({ ...kSession, outcome: 'not supported', reason: 'nobody is logged in' })
    return
  }
  const user = await firewall.provider?.load(kept.user.identifier) ?? null
  const isOver = (await firewall.marks?.current(kept.user.identifier) ?? '') !== (kept.user.mark ?? '')
  if (user !== null && stampOf(user) === kept.user.stamp && !isOver) {
    context.login(user, kSession, security.rolesOf)
    record?.authenticators.push({ ...kSession, outcome: 'succeeded' })
    return
  }
  keepLogin(request, firewall.name, { user: undefined })
  record?.authenticators.push({ ...kSession, outcome: 'failed', reason: user === null ? 'the user is gone' : isOver ? 'all sessions of the user were ended' : 'the password has changed' })
}

/** Lets a request pass by the access rule that holds for it, or refuses it. */
export async function enforce (security: Security, context: SecurityContext, rule: CompiledRule, request: FastifyRequest, reply: FastifyReply): Promise<Answer | undefined> {
  const { index, path, roles, methods, ips } = rule
  let granted = false
  for (const role of roles) granted ||= await security.isGranted(request, context, role, undefined, 'access_control')
  if (context.record !== null) context.record.rule = { index, path, methods: [...methods], ips: [...ips], roles: [...roles], granted }
  return granted ? undefined : refuse(request, reply, context, security.cookieName)
}
