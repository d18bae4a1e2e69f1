import type { Collector } from './collect.js'
import { collectorsOf } from './config/configuration.js'
import { cpuPanel } from './cpu/index.js'
import { cspPanel } from './csp/index.js'
import { json } from '../view/components.js'
import type { Profile } from '../profiler/profile.js'
import { environmentPanels } from './environment.js'
import { eventsPanel } from './events/index.js'
import { exceptionsPanel, otherErrorsPanel } from './exceptions/index.js'
import { logsPanel } from './logs/index.js'
import { overviewPanel } from './overview/index.js'
import { createPanel, dataOf, GROUPS, type Panel } from './part.js'
import { performancePanel } from './performance/index.js'
import { requestPanel } from './request/index.js'
import { routingPanels } from './router/index.js'
import { corsPanel, securityPanel, sessionPanel } from './security/index.js'

/** The panels in the order of the menu, group by group. */
export const panels: readonly Panel[] = [
  overviewPanel,
  requestPanel,
  exceptionsPanel,
  otherErrorsPanel,
  logsPanel,
  performancePanel,
  cpuPanel,
  eventsPanel,
  ...routingPanels,
  securityPanel,
  sessionPanel,
  corsPanel,
  cspPanel,
  ...environmentPanels
]

// The request panel shows the response, the events panel the headers, and the summary of the page why it was blocked.
const WITHOUT_PANEL = new Set(['response', 'headers', 'blocked', ...panels.map(({ name }) => name)])

/** The panels of one profile: ours, those of the application's collectors, and one that shows JSON for all others. */
export function panelsOf (profile: Profile): Panel[] {
  const { id } = dataOf(profile, 'config')
  const custom = collectorsOf(id).filter(({ name }) => Object.hasOwn(profile.collectors, name))
  const customNames = new Set(custom.map(({ name }) => name))
  const others = Object.keys(profile.collectors).filter((name) => !WITHOUT_PANEL.has(name) && !customNames.has(name))
  return [
    ...panels.filter(({ name, always }) => always || profile.collectors[name] !== undefined),
    ...custom.map(customPanel),
    ...others.map((name) => customPanel({ name }))
  ]
}

/** The panel of a collector of the application: rendered by its own function, or as JSON. */
function customPanel ({ name, panel = {} }: Pick<Collector, 'name' | 'panel'>): Panel {
  const { label = name.charAt(0).toUpperCase() + name.slice(1), count, problem, render = json } = panel
  const dataIn = (profile: Profile): unknown => profile.collectors[name]
  return createPanel(name, label, 'application', {
    count: (_, profile) => count?.(dataIn(profile)),
    errors: (_, profile) => problem?.(dataIn(profile)) === true,
    render: (_, profile) => String(render(dataIn(profile)))
  })
}

/** The menu: the groups that have panels, with their titles. */
export function groupsOf (profile: Profile): Array<{ title: string, panels: Panel[] }> {
  const all = panelsOf(profile)
  return Object.entries(GROUPS)
    .map(([group, title]) => ({ title, panels: all.filter((panel) => panel.group === group) }))
    .filter(({ panels }) => panels.length > 0)
}
