import { hintOfCode, similarRoutes } from '../../errors/hints.js'
import type { Hint } from '../../errors/report.js'
import { cut } from '../../view/visible.js'
import { blockedSentences, dataOf, listOf } from '../panels/panel.js'
import type { Profile } from '../profile.js'

const MAX_ITEMS = 5
const MAX_TEXT = 300

/** Hints that help with a failure; only those that the profile proves. */
export function profileHints (profile: Profile): Hint[] {
  return [errorHint, routeHint, refusalHint, callHint, otherErrorHint]
    .map((hintOf) => hintOf(profile)).filter((hint) => hint !== null)
}

function errorHint ({ exceptions }: Profile): Hint | null {
  return hintOfCode(listOf(exceptions).at(-1)?.code)
}

function routeHint (profile: Profile): Hint | null {
  if (profile.route !== null || (profile.status !== 404 && profile.status !== 405)) return null
  const routes = listOf(dataOf(profile, 'router').tried).filter(({ isNear }) => isNear === true).slice(0, MAX_ITEMS)
  if (routes.length === 0) return { title: 'No similar route', text: 'No declared route is similar to this path.' }
  return similarRoutes(routes.map(({ methods, pattern, why }) => ({
    methods: Array.isArray(methods) ? methods.map(String) : [], pattern: String(pattern), why: short(why)
  })))
}

function refusalHint (profile: Profile): Hint | null {
  const sentences = blockedSentences(profile).slice(0, MAX_ITEMS)
  return sentences.length === 0 ? null : { title: 'Why was this refused?', text: sentences.map(short).join(' ') }
}

function callHint (profile: Profile): Hint | null {
  const failed = listOf(dataOf(profile, 'http-client').calls)
    .filter(({ status, error }) => error !== undefined || (typeof status === 'number' && status >= 400))
  if (failed.length === 0) return null
  return {
    title: failed.length === 1 ? 'A call to another server failed' : `${failed.length} calls to other servers failed`,
    text: failed.slice(0, MAX_ITEMS)
      .map(({ method, url, status, error }) => `${short(method)} ${short(url)}: ${short(error ?? status)}`).join('; ')
  }
}

function otherErrorHint ({ collectors: { otherErrors } }: Profile): Hint | null {
  const chains = Array.isArray(otherErrors) ? otherErrors : []
  const errors = chains.map((chain) => listOf(chain).at(-1)).filter((last) => last !== undefined)
  if (errors.length === 0) return null
  const texts = errors.slice(0, MAX_ITEMS).map(({ name, message }) => `${short(name)}: ${short(message)}`)
  return { title: 'Other errors', text: texts.join('; ') }
}

function short (value: unknown): string {
  return cut(String(value), MAX_TEXT)
}
