import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface CpuProfile {
  nodes: Array<{ id: number, callFrame: { functionName: string, url: string }, children?: number[] }>
  samples: number[]
  timeDeltas: number[]
}

// Whose code it is: a package, a part of this project, or Node.js.
function ownerOf (url: string): string {
  if (url.startsWith('node:')) return 'Node.js'
  const [, installed] = /.*node_modules\/(@[^/]+\/[^/]+|[^/]+)/.exec(url) ?? []
  if (installed !== undefined) return installed
  const [, part] = /\/(lib\/profiler\/storage|(?:lib|plugins|app|cli|bench)\/[^/]+)/.exec(url) ?? []
  return part ?? 'others'
}

/** The share of a process's main thread that each owner's own code takes; what has no file, such as a builtin, counts for who called it. */
function sharesOf ({ nodes, samples, timeDeltas }: CpuProfile): Map<string, number> {
  const known = new Map(nodes.map((node) => [node.id, node.callFrame]))
  const callers = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)))
  const times = new Map<string, number>()
  let total = 0
  for (const [i, sample] of samples.entries()) {
    const name = known.get(sample)?.functionName ?? ''
    if (name === '(idle)') continue
    let at: number | undefined = sample
    while (at !== undefined && known.get(at)?.url === '' && !name.startsWith('(')) at = callers.get(at)
    const owner = name.startsWith('(') ? name : ownerOf(known.get(at ?? -1)?.url ?? '')
    const time = timeDeltas[i] ?? 0
    times.set(owner, (times.get(owner) ?? 0) + time)
    total += time
  }
  return new Map([...times].map(([owner, time]) => [owner, time / total]))
}

// Profiles of the main threads: the others load modules.
const [, , folder = '.'] = process.argv
const rows: Record<string, Record<string, string>> = {}
for (const name of readdirSync(folder).filter((name) => /\.0\.\d+\.cpuprofile$/.test(name)).sort()) {
  const shares = sharesOf(JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile)
  for (const [owner, share] of shares) if (share >= 0.005) (rows[owner] ??= {})[name.replace(/^CPU\.|\.\d+\.\d+\.\d+\.cpuprofile$/g, '')] = `${(100 * share).toFixed(1)} %`
}
console.table(rows)
