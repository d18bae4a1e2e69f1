import { hintOfCode } from '../../errors/hints.js'
import type { Hint } from '../../errors/report.js'
import { cut } from '../../view/visible.js'
import type { Profile } from '../profile.js'
import { dataOf, isObject, listOf } from '../panels/panel.js'

const MAX_ROUTES = 5
const MAX_CALLS = 5
const MAX_TEXT = 300

/** Remarks that help with a failure, as far as its profile tells; none where none is sure to be right. */
export function profileHints (profile: Profile): Hint[] {
  return [...known(profile), ...nearRoutes(profile), ...unconverted(profile), ...refused(profile), ...crossOrigin(profile), ...calls(profile), ...beside(profile)]
}

function known ({ exceptions }: Profile): Hint[] {
  const last = listOf(exceptions).at(-1)
  const hint = hintOfCode(last?.code)
  if (hint !== null) return [hint]
  return String(last?.message ?? '').startsWith('Untrusted Host ')
    ? [{ title: 'Is this host yours?', text: 'Requests are taken for the hosts that the option trustedHosts (TRUSTED_HOSTS) names, and for no others.' }]
    : []
}

function nearRoutes (profile: Profile): Hint[] {
  if (profile.route !== null || (profile.status !== 404 && profile.status !== 405)) return []
  const near = Math.max(2, Math.floor(pathOf(profile.url).length / 5))
  const routes = listOf(dataOf(profile, 'router').tried).filter(({ distance }) => typeof distance === 'number' && distance <= near).slice(0, MAX_ROUTES)
  if (routes.length === 0) return [{ title: 'Is a route missing?', text: 'Nothing that is declared is near the path of this request.' }]
  return [{
    title: routes.length === 1 ? 'Did you mean this route?' : 'Did you mean one of these routes?',
    text: 'What is declared, and differs by little:',
    routes: routes.map(({ methods, pattern, why }) => ({ methods: Array.isArray(methods) ? methods.map(String) : [], pattern: String(pattern), why: short(why) }))
  }]
}

function unconverted (profile: Profile): Hint[] {
  if (profile.status !== 404) return []
  return Object.entries(dataOf(profile, 'params'))
    .filter(([, one]) => isObject(one) && one.value === undefined && one.sent !== null && one.sent !== undefined)
    .slice(0, 1)
    .map(([name, one]) => ({ title: 'A path parameter could not be converted', text: `The converter "${short((one as { converter?: unknown }).converter)}" made nothing of "${short((one as { sent?: unknown }).sent)}" for the parameter ${short(name)}.` }))
}

function refused (profile: Profile): Hint[] {
  if (![401, 403, 429].includes(profile.status)) return []
  const { user, rule, decisions, expression, authenticators } = dataOf(profile, 'security')
  const who = isObject(user) ? `${short(user.identifier)} is logged in` : 'Nobody is logged in'
  const denied = listOf(decisions).find(({ granted }) => granted === false)
  const failed = listOf(authenticators).find(({ outcome }) => outcome === 'failed')
  const why = failed !== undefined
    ? `the authenticator ${short(failed.name)} failed: ${short(failed.reason ?? 'no reason was given')}`
    : isObject(rule) && rule.granted === false
      ? `rule ${Number(rule.index) + 1} of security.accessControl, for ${short(rule.path)}, asks for ${short(listText(rule.roles))}`
      : denied !== undefined
        ? `${short(denied.by)} asked for ${short(denied.attribute)}: ${short(listOf(denied.votes).find(({ vote }) => vote === 'denied')?.reason || 'no voter granted it')}`
        : isObject(expression) && expression.result === false ? `the expression of the route is false: ${short(expression.expression)}` : ''
  return why === '' ? [] : [{ title: 'Why it was refused', text: `${who}, and ${why}.` }]
}

function crossOrigin (profile: Profile): Hint[] {
  const { allowed, why } = dataOf(profile, 'cors')
  return allowed === false ? [{ title: 'The page of another origin may not read this answer', text: `${short(why)}; the option cors decides it.` }] : []
}

function calls (profile: Profile): Hint[] {
  const failed = listOf(dataOf(profile, 'http-client').calls).filter(({ status, error }) => error !== undefined || (typeof status === 'number' && status >= 400))
  return failed.length === 0
    ? []
    : [{
        title: failed.length === 1 ? 'A call to another server failed' : `${failed.length} calls to other servers failed`,
        text: failed.slice(0, MAX_CALLS).map(({ method, url, status, error }) => `${short(method)} ${short(url)}: ${error === undefined ? short(status) : short(error)}`).join('; ')
      }]
}

function beside ({ collectors: { otherErrors } }: Profile): Hint[] {
  if (!Array.isArray(otherErrors) || otherErrors.length === 0) return []
  const lasts = otherErrors.map((chain) => listOf(chain).at(-1)).filter((last) => last !== undefined).slice(0, MAX_CALLS)
  return [{ title: 'Something else was raised beside', text: lasts.map(({ name, message }) => `${short(name)}: ${short(message)}`).join('; ') }]
}

function pathOf (url: string): string {
  try {
    return new URL(url).pathname
  } catch {
    return url
  }
}

function listText (value: unknown): string {
  return Array.isArray(value) ? value.map(String).join(' or ') : String(value)
}

function short (value: unknown): string {
  return cut(String(value), MAX_TEXT)
}
