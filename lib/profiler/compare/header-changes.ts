import { Findings } from './findings.js'
import { listOf, type Compare } from './sections.js'

type Change = Readonly<Record<string, unknown>>

/** Who changed the headers of the response outside of the listeners, header by header: one that came in between is told as that one alone. */
export const headerChanges: Compare = (a, b, tokens) => {
  const found = new Findings('headers', 'Who set the headers', tokens)
  const [one, other] = [byName(a.collectors.headers), byName(b.collectors.headers)]
  for (const name of new Set([...one.keys(), ...other.keys()])) found.values(`header ${name}`, one.get(name), other.get(name))
  return found.section
}

// What they were changed to stands with the response.
function byName (data: unknown): Map<string, string> {
  const { changes, node } = (typeof data === 'object' && data !== null ? data : {}) as Change
  const steps = new Map<string, string>()
  const note = (name: string, step: string): void => { steps.set(name, steps.has(name) ? `${steps.get(name)}; ${step}` : step) }
  for (const change of listOf(changes as Change[] | undefined)) note(String(change.name), told(change))
  for (const name of typeof node === 'object' && node !== null ? Object.keys(node) : []) note(name, 'Node.js')
  return steps
}

function told ({ via, by, package: name, function: called, source, cookie, to }: Change): string {
  const what = to === null && cookie === undefined ? 'removed by' : 'set by'
  const who = typeof name === 'string' ? name : String(by)
  return [what, who, ...[called, source].filter((one) => typeof one === 'string'), `(${String(via)})`].join(' ')
}
