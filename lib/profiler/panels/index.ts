import { collectorsOf } from '../configuration.js'
import type { Profile } from '../profile.js'
import { assetsPanel } from './assets/panel.js'
import { attributesPanel } from './attributes/panel.js'
import { cachePanel } from './cache/panel.js'
import { configPanel } from './config/panel.js'
import { corsPanel } from './cors/panel.js'
import { cspPanel } from './csp/panel.js'
import { customPanel } from './custom/panel.js'
import { cpuPanel } from './cpu/panel.js'
import { dataPanel } from './data/panel.js'
import { eventsPanel } from './events/panel.js'
import { exceptionsPanel } from './exceptions/panel.js'
import { httpClientPanel } from './http-client/panel.js'
import { linksPanel } from './links/panel.js'
import { localePanel } from './locale/panel.js'
import { logsPanel } from './logs/panel.js'
import { otherErrorsPanel } from './other-errors/panel.js'
import { paginationPanel } from './pagination/panel.js'
import { dataOf, GROUPS, type Panel } from './panel.js'
import { paramsPanel } from './params/panel.js'
import { performancePanel } from './performance/panel.js'
import { requestPanel } from './request/panel.js'
import { routerPanel } from './router/panel.js'
import { securityPanel } from './security/panel.js'
import { sessionPanel } from './session/panel.js'
import { templatePanel } from './template/panel.js'
import { spansPanel } from './spans/panel.js'
import { tracePanel } from './trace/panel.js'

/** The panels in the order of the menu, group by group: adding one touches its own folder and this list. */
export const panels: readonly Panel[] = [
  requestPanel,
  exceptionsPanel,
  otherErrorsPanel,
  logsPanel,
  performancePanel,
  cpuPanel,
  eventsPanel,
  routerPanel,
  attributesPanel,
  paramsPanel,
  templatePanel,
  paginationPanel,
  localePanel,
  securityPanel,
  sessionPanel,
  corsPanel,
  cspPanel,
  cachePanel,
  linksPanel,
  assetsPanel,
  httpClientPanel,
  spansPanel,
  tracePanel,
  configPanel
]

// The response is shown beside its request, who changed its headers beside the events, and what refused it ahead of all panels.
const SHOWN_BY_OTHERS = new Set(['response', 'headers', 'blocked', ...panels.map(({ name }) => name)])

/** The panels of one profile: those that are always there or have something to tell of it, those of the application, and a plain one for each collector that has none. */
export function panelsOf (profile: Profile): Panel[] {
  const custom = collectorsOf(dataOf(profile, 'config').id).filter(({ name }) => Object.hasOwn(profile.collectors, name))
  const shown = new Set(custom.map(({ name }) => name))
  const others = Object.keys(profile.collectors).filter((name) => !SHOWN_BY_OTHERS.has(name) && !shown.has(name))
  return [
    ...panels.filter(({ name, always = false }) => always || profile.collectors[name] !== undefined),
    ...custom.map(customPanel),
    ...others.map(dataPanel)
  ]
}

/** The same as the menu has them: its parts with a title, empty ones left out. */
export function groupsOf (profile: Profile): Array<{ title: string, panels: Panel[] }> {
  const all = panelsOf(profile)
  return Object.entries(GROUPS)
    .map(([group, title]) => ({ title, panels: all.filter((panel) => panel.group === group) }))
    .filter(({ panels }) => panels.length > 0)
}

/** The panel that a visitor sees first: where the problem is, else the request. */
export function firstPanel (profile: Profile): Panel {
  return panelsOf(profile).find((panel) => panel.problem?.(profile)) ?? requestPanel
}
