import type { Profile } from '../profile.js'
import { dataPanel } from './data/panel.js'
import { eventsPanel } from './events/panel.js'
import { exceptionsPanel } from './exceptions/panel.js'
import { logsPanel } from './logs/panel.js'
import type { Panel } from './panel.js'
import { performancePanel } from './performance/panel.js'
import { requestPanel } from './request/panel.js'
import { routerPanel } from './router/panel.js'
import { securityPanel } from './security/panel.js'

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

const SHOWN_BY_OTHERS = new Set(['response', ...panels.map(panel => panel.name)])

/** The panels of one profile: the listed ones, and a plain one for each collector that has none. */
export function panelsOf (profile: Profile): Panel[] {
  const others = Object.keys(profile.collectors).filter(name => !SHOWN_BY_OTHERS.has(name))
  return [...panels, ...others.map(dataPanel)]
}

/** The panel that a visitor sees first: where the problem is, else the request. */
export function firstPanel (profile: Profile): Panel {
  return panelsOf(profile).find(panel => panel.problem?.(profile)) ?? requestPanel
}
