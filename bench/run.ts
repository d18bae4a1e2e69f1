import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { latency, memory, startUp } from './process-figures.js'
import { measurePair, type Result } from './pair.js'
import { SCENARIOS, type Scenario } from './scenarios.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    pairs: { type: 'string' },
    requests: { type: 'string' },
    growth: { type: 'boolean', default: false },
    'cpu-prof': { type: 'string' },
    list: { type: 'boolean', default: false }
  }
})

const OTHERS: Readonly<Record<string, (quick: boolean) => Promise<Record<string, number>>>> = { latency, memory, 'start-up': startUp }

function chosen (): { scenarios: Scenario[], others: string[] } {
  const isGrowth = ({ name }: Scenario): boolean => name.startsWith('growth-')
  if (positionals.length === 0) return { scenarios: SCENARIOS.filter((scenario) => values.growth || !isGrowth(scenario)), others: Object.keys(OTHERS) }
  const known = [...SCENARIOS.map(({ name }) => name), ...Object.keys(OTHERS)]
  const unknown = positionals.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Error(`There is no scenario "${unknown}"; there are ${known.join(', ')}`)
  return { scenarios: SCENARIOS.filter(({ name }) => positionals.includes(name)), others: Object.keys(OTHERS).filter((name) => positionals.includes(name)) }
}

async function main (): Promise<void> {
  if (values.list) {
    for (const { name, what, against } of SCENARIOS) console.log(`${name.padEnd(20)} ${what}, against ${against}`)
    return
  }
  if (!existsSync(join(import.meta.dirname, 'node_modules/youch'))) throw new Error('The peers are not installed: npm install --prefix bench')
  const pairs = Number(values.pairs ?? (values.quick ? 3 : 11))
  const requests = Number(values.requests ?? (values.quick ? 1_500 : 4_000))
  const { scenarios, others } = chosen()
  const cpuProfiles = values['cpu-prof'] === undefined ? undefined : resolve(values['cpu-prof'])
  const results: Result[] = []
  const figures: Record<string, Record<string, number>> = {}
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? '', cpus: cpus().length, load: Number((loadavg()[0] ?? 0).toFixed(2)), pairs, requests }
  if (!values.json) console.log(`Node.js ${machine.node}, ${machine.cpus} × ${machine.cpu}, load ${machine.load}; ${pairs} pairs of ${requests} requests\n`)
  for (const scenario of scenarios) {
    const result = await measurePair(scenario, { pairs, requests, warmUp: values.quick ? 4_000 : 30_000, ...(cpuProfiles !== undefined && { cpuProfiles }) })
    results.push(result)
    if (!values.json) console.log(line(result))
  }
  for (const name of others) {
    figures[name] = await OTHERS[name]?.(values.quick) ?? {}
    if (!values.json) console.log(`\n${name}`, figures[name])
  }
  if (values.json) console.log(JSON.stringify({ machine, results, figures }, null, 2))
}

function line ({ name, ratio, goal, cpu, main, rate, against, status }: Result): string {
  const met = goal === null ? '' : ratio.median >= goal ? `meets ${goal}` : `MISSES ${goal}`
  const share = `${digits(ratio.median)} (${digits(ratio.lower)}–${digits(ratio.upper)})`
  return `${name.padEnd(20)} ${share.padEnd(22)} ${met.padEnd(12)} ${digits(cpu.subject.median)} µs (${digits(main.subject.median)} of the main thread) against ${digits(cpu.base.median)} µs of ${against}; ${Math.round(rate.subject.median)}/s against ${Math.round(rate.base.median)}/s; ${status}`
}

function digits (value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

await main()
