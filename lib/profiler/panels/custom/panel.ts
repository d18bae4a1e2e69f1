import type { Collector } from '../../collector.js'
import { failed, json } from '../../pages/components.js'
import { failureOf } from '../panel.js'
import type { Panel } from '../panel.js'

/** Shows a collector of the application, in its own way where it has one. */
export function customPanel ({ name, panel = {} }: Collector): Panel {
  const { label = name.charAt(0).toUpperCase() + name.slice(1), count, problem, render } = panel
  return {
    name,
    label,
    group: 'application',
    ...(count !== undefined && { count: profile => failureOf(profile, name) === undefined ? count(profile.collectors[name]) : undefined }),
    problem: profile => failureOf(profile, name) !== undefined || (problem !== undefined && says(() => problem(profile.collectors[name]))),
    render: profile => {
      const failure = failureOf(profile, name)
      if (failure !== undefined) return failed(failure)
      const data = profile.collectors[name]
      return render === undefined ? json(data) : String(render(data))
    }
  }
}

// What throws at being asked has something to be looked at.
function says (ask: () => boolean): boolean {
  try {
    return ask()
  } catch {
    return true
  }
}
