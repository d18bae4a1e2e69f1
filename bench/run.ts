import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { latency, LATENCY_GOAL } from './latency.js'
import { measurePair, type Quartiles, type Result } from './pair.js'
import { APPLICATIONS, measureProducts } from './products.js'
import { REFERENCE } from './reference.js'
import { SCENARIOS, type Scenario } from './scenarios.js'
import { slowestSearch, SEARCH_GOAL } from './searches.js'
import { suite, SUITE_GOAL } from './suite.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    pairs: { type: 'string' },
    requests: { type: 'string' },
    'cpu-prof': { type: 'string' }
  }
})

const ROWS = [...SCENARIOS.map(({ name }) => name), 'latency', 'suite', 'searches']
const GROUPS = new Set(SCENARIOS.flatMap(({ group = [] }) => group))
const NAMES = [...GROUPS, ...ROWS, ...APPLICATIONS.map(({ name }) => name)]
const unknown = positionals.find((name) => !NAMES.includes(name))
if (unknown !== undefined) throw new Error(`Unknown scenario "${unknown}"; use one of ${NAMES.join(', ')}`)
const isChosen = (name: string): boolean => positionals.length === 0 || positionals.includes(name)
const applications = APPLICATIONS.filter(({ name }) => isChosen(name))
if (applications.length > 0 && !existsSync(join(import.meta.dirname, 'node_modules/youch'))) {
  throw new Error('The peers are not installed: npm install --prefix bench')
}
const pairs = Number(values.pairs ?? (values.quick ? 3 : 5))
const requests = Number(values.requests ?? (values.quick ? 2_000 : 6_000))
const warmUp = values.quick ? 6_000 : 20_000
const cpuProfiles = values['cpu-prof'] === undefined ? {} : { cpuProfiles: resolve(values['cpu-prof']) }
const machine = `${cpus().length} × ${cpus()[0]?.model ?? ''}, load ${(loadavg()[0] ?? 0).toFixed(2)}`
console.log(`Node.js ${process.version}, ${machine}; ${pairs} pairs of ${requests} requests\n`)
if ([...GROUPS, ...ROWS].some(isChosen)) {
  console.log(`| scenario | what | against | goal | figure | met | CPU a request, ours / base | of the CPU of ${REFERENCE} |`)
  console.log('|---|---|---|---|---|---|---|---|')
}
if (isChosen('built')) build()
for (const scenario of SCENARIOS.filter(({ name, group = name }) => isChosen(name) || isChosen(group))) {
  console.log(row(scenario, await measurePair(scenario, { pairs, requests, warmUp, ...cpuProfiles })))
}
if (isChosen('latency')) {
  const { debug, bare, difference } = await latency(values.quick ? 3 : 9)
  const cells = [
    'latency', 'debug mode, p99 at 1,000 requests a second', 'bare Fastify', `at most ${LATENCY_GOAL} ms more`,
    `${digits(difference)} ms (${digits(debug)} / ${digits(bare)})`, difference <= LATENCY_GOAL ? 'yes' : '**no**', '', ''
  ]
  console.log(`| ${cells.join(' | ')} |`)
}
if (isChosen('suite')) {
  build()
  const { ratio, subject, base } = await suite(pairs)
  const cells = [
    'suite', '300 tests that make the application, inject and close it', 'the same without the plugin',
    `at most ${SUITE_GOAL}`, `${digits(ratio.median)} (${digits(ratio.lower)}–${digits(ratio.upper)})`,
    ratio.median <= SUITE_GOAL ? 'yes' : '**no**', `${digits(subject.median)} / ${digits(base.median)} s elapsed`, ''
  ]
  console.log(`| ${cells.join(' | ')} |`)
}
if (isChosen('searches')) {
  const { name, cpu } = await slowestSearch()
  const cells = [
    'searches', 'the newest, failures and slow ones of 1,000,000 profiles in SQLite, while others are written', '',
    `at most ${SEARCH_GOAL} ms`, `${digits(cpu)} ms (${name})`, cpu <= SEARCH_GOAL ? 'yes' : '**no**', ''
  ]
  console.log(`| ${cells.join(' | ')} |`)
}
if (applications.length > 0) {
  build()
  await measureProducts(applications, values.quick ? 1 : 3)
}

/** Builds the package, which the suite and the table of products use as it is published. */
function build (): void {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: join(import.meta.dirname, '..'), stdio: 'inherit' })
}

function row ({ name, what, against, goal }: Scenario, { ratio, cpu, main, ofReference }: Result): string {
  const [wanted, figure, isMet] = 'ratio' in goal
    ? [`at least ${goal.ratio}`, ratio, ratio.median >= goal.ratio] as const
    : 'microseconds' in goal
      ? [`at most ${goal.microseconds} µs`, cpu.subject, cpu.subject.median <= goal.microseconds] as const
      : ofQuery(goal)
  function ofQuery ({ microsecondsOfQuery, queries }: Extract<Scenario['goal'], { queries: number }>) {
    const { lower, median, upper } = main.added
    const each = { lower: lower / queries, median: median / queries, upper: upper / queries }
    return [`at most ${microsecondsOfQuery} µs a query`, each, each.median <= microsecondsOfQuery] as const
  }
  const range = rangeOf(figure)
  const times = `${digits(cpu.subject.median)} / ${digits(cpu.base.median)} µs`
  return `| ${[name, what, against, wanted, range, isMet ? 'yes' : '**no**', times, ofReference === undefined ? '' : rangeOf(ofReference)].join(' | ')} |`
}

function rangeOf ({ lower, median, upper }: Quartiles): string {
  return `${digits(median)} (${digits(lower)}–${digits(upper)})`
}

function digits (value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
