import { collectorsOf } from '../configuration/configuration.js'
import type { Profile } from '../profile.js'
import { cachePanel } from './cache/panel.js'
import { configPanel } from './config/panel.js'
import { corsPanel } from './cors/panel.js'
import { cspPanel } from './csp/panel.js'
import { customPanel } from './custom/panel.js'
import { dataPanel } from './data/panel.js'
import { eventsPanel } from './events/panel.js'
import { exceptionsPanel } from './exceptions/panel.js'
import { httpClientPanel } from './http-client/panel.js'
import { localePanel } from './locale/panel.js'
import { logsPanel } from './logs/panel.js'
import { paginationPanel } from './pagination/panel.js'
import { dataOf, type Panel } from './panel.js'
import { performancePanel } from './performance/panel.js'
import { requestPanel } from './request/panel.js'
import { routerPanel } from './router/panel.js'
import { securityPanel } from './security/panel.js'
import { sessionPanel } from './session/panel.js'

/** The panels in the order of the menu: adding one touches its own folder and this list. */
export const panels: readonly Panel[] = [
  requestPanel,
  exceptionsPanel,
  logsPanel,
  eventsPanel,
  routerPanel,
  securityPanel,
  performancePanel
]

/** Those that are there for requests alone of which their collector has something to tell; behind the others. */
const occasional: readonly Panel[] = [httpClientPanel, sessionPanel, corsPanel, cspPanel, cachePanel, localePanel, paginationPanel, configPanel]

const SHOWN_BY_OTHERS = new Set(['response', 'trace', ...[...panels, ...occasional].map(panel => panel.name)])

/** The panels of one profile: the listed ones, those that have something to tell of it, those of the application, and a plain one for each collector that has none. */
export function panelsOf (profile: Profile): Panel[] {
  const custom = collectorsOf(dataOf(profile, 'config').id).filter(({ name }) => Object.hasOwn(profile.collectors, name))
  const shown = new Set(custom.map(({ name }) => name))
  const others = Object.keys(profile.collectors).filter(name => !SHOWN_BY_OTHERS.has(name) && !shown.has(name))
  return [
    ...panels, ...occasional.filter(({ name }) => profile.collectors[name] !== undefined), ...custom.map(customPanel), ...others.map(dataPanel)
  ]
}

/** The panel that a visitor sees first: where the problem is, else the request. */
export function firstPanel (profile: Profile): Panel {
  return panelsOf(profile).find(panel => panel.problem?.(profile)) ?? requestPanel
}
