import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Load } from './load.js'
import { quartiles } from './pair.js'
import { Client, Server, Sink } from './processes.js'

const FOLDER = join(import.meta.dirname, 'products')
const PACKAGE = join(import.meta.dirname, '../packages/hindsight')

interface Product {
  name: string
  /** The packages that it needs beside Fastify. */
  packages: readonly string[]
  /** Whether `NODE_ENV` is `production`; default: true. */
  production?: boolean
  /** Flags of Node.js that load the product. */
  flags?: readonly string[]
  /** Whether it sends what it records to the sink. */
  sends?: boolean
}

const bare: Product = { name: 'bare', packages: [] }
const debug: Product = { name: 'hindsight-debug', production: false, packages: ['fastify-hindsight'] }
const auto = '@opentelemetry/auto-instrumentations-node'
const otel = ['@opentelemetry/sdk-node', '@opentelemetry/exporter-trace-otlp-proto', '@opentelemetry/instrumentation-http']

/** The products that users choose between. */
const PRODUCTS: readonly Product[] = [
  bare,
  { name: 'hindsight-production', packages: ['fastify-hindsight'] },
  debug,
  {
    name: 'fastify-otel',
    packages: ['@fastify/otel', ...otel],
    flags: ['--require', join(FOLDER, 'fastify-otel.cjs')],
    sends: true
  },
  { name: 'otel-auto', packages: [auto], flags: ['--require', `${auto}/register`], sends: true },
  { name: 'sentry', packages: ['@sentry/node'], flags: ['--import', pathToFileURL(join(FOLDER, 'sentry.cjs')).href], sends: true },
  { name: 'elastic', packages: ['elastic-apm-node'], flags: ['--require', 'elastic-apm-node/start'], sends: true }
]

export interface Application {
  name: string
  /** Requests a second of the rounds that are measured. */
  rate: number
  products: readonly Product[]
  headers?: Readonly<Record<string, string>>
}

/** The applications of the table, with the products that are compared in each. */
export const APPLICATIONS: readonly Application[] = [
  { name: 'hello', rate: 400, products: PRODUCTS },
  { name: 'hooks', rate: 400, products: PRODUCTS },
  { name: 'page', rate: 200, products: PRODUCTS },
  {
    name: 'failure',
    rate: 100,
    products: [bare, debug, { name: 'youch', production: false, packages: ['youch'] }],
    headers: { accept: 'text/html' }
  }
]

/** The figures of one process. */
interface Sample {
  /** Microseconds of CPU time a request: of the thread that answers requests, and of all threads. */
  main: number
  all: number
  /** Milliseconds from the moment at which a request was due to its response. */
  p50: number
  p99: number
  /** Milliseconds until the server listens: CPU time, and elapsed. */
  start: number
  listening: number
  /** MiB that are resident after more than 10,000 requests. */
  memory: number
}

type Figure = keyof Sample

const UNITS: Readonly<Record<Figure, string>> = {
  main: 'µs', all: 'µs', p50: 'ms', p99: 'ms', start: 'ms', listening: 'ms', memory: 'MiB'
}
const FIGURES = Object.keys(UNITS) as Figure[]

/** Requests of a process before those that are measured. */
const WARM_UP = 10_000
/** So many at once that a store writes all their profiles. */
const BATCH = 500
const ROUNDS = 2
const SECONDS = 4

/** Prints the table of products, and the goals. All products of an application take turns, in new processes for each group. */
export async function measureProducts (applications: readonly Application[], groups: number): Promise<void> {
  console.log('\n| application | product | main thread | all threads | p50 | p99 | start | listening | memory | installed |')
  console.log('|---|---|---|---|---|---|---|---|---|---|')
  const goals: string[] = []
  for (const { name, ...application } of applications) {
    const samples = application.products.map((): Sample[] => [])
    for (let group = 0; group < groups; group++) {
      for (const [i, sample] of (await measureGroup({ name, ...application })).entries()) samples[i]?.push(sample)
    }
    const found = new Map(application.products.map((product, i) => [product.name, medians(samples[i] ?? [])]))
    for (const product of application.products) console.log(row(name, product, found.get(product.name) as Sample))
    goals.push(...goalsOf(name, (product) => found.get(product) as Sample))
  }
  console.log(`\n| application | goal | figure | met |\n|---|---|---|---|\n${goals.join('\n')}`)
}

/** The rows of the goals of an application. */
function goalsOf (application: string, of: (product: string) => Sample): string[] {
  const goal = (what: string, figure: number, unit: string, isMet: boolean): string =>
    `| ${application} | ${what} | ${figure.toFixed(2)}${unit} | ${isMet ? 'yes' : '**no**'} |`
  const [none, ours] = [of('bare'), of('hindsight-debug')]
  if (application === 'failure') {
    const ratio = of('youch').all / ours.all
    return [goal('debug mode: CPU of youch by ours at least 2.5', ratio, '', ratio >= 2.5)]
  }
  const production = of('hindsight-production')
  const share = production.main / none.main
  const added = (sample: Sample, figure: Figure): number => sample[figure] - none[figure]
  const cheaper = ['sentry', 'elastic'].flatMap((product) => FIGURES.map((figure) => {
    const ratio = ours[figure] / of(product)[figure]
    return goal(`debug mode: ${figure} by that of ${product} at most 1`, ratio, '', ratio <= 1)
  }))
  const auto = ours.main / of('otel-auto').main
  return [
    goal('production: main thread by that of bare at most 1.03', share, '', share <= 1.03),
    goal('production: CPU of the start above bare at most 20 ms', added(production, 'start'), ' ms', added(production, 'start') <= 20),
    goal('production: memory above bare at most 15 MiB', added(production, 'memory'), ' MiB', added(production, 'memory') <= 15),
    goal('debug mode: CPU of the start above bare at most 100 ms', added(ours, 'start'), ' ms', added(ours, 'start') <= 100),
    goal('debug mode: memory above bare at most 15 MiB', added(ours, 'memory'), ' MiB', added(ours, 'memory') <= 15),
    ...application === 'hello' ? [] : [goal('debug mode: main thread by that of otel-auto at most 1', auto, '', auto <= 1)],
    ...cheaper
  ]
}

function row (application: string, { name, packages }: Product, sample: Sample): string {
  const size = `${(installedSize(packages) / 1e6).toFixed(1)} MB`
  const cells = FIGURES.map((figure) => `${sample[figure].toFixed(sample[figure] < 10 ? 2 : 0)} ${UNITS[figure]}`)
  return `| ${[application, name, ...cells, size].join(' | ')} |`
}

async function measureGroup ({ name, rate, headers = {}, products }: Application): Promise<Sample[]> {
  const [client, sink] = [new Client(), await Sink.start()]
  const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'hindsight-bench-'))
  const servers: Server[] = []
  const load = { connections: 10, path: '/', headers }
  try {
    for (const product of products) servers.push(await start(product, name, sink.address, folder))
    for (const [i, server] of servers.entries()) {
      await sink.received()
      for (let left = WARM_UP; left > 0; left -= BATCH) {
        await client.load({ ...load, port: server.port, requests: BATCH })
        await server.usage()
      }
      if (products[i]?.sends === true && await sink.received() === 0) throw new Error(`${products[i].name} has sent nothing`)
    }
    const samples = servers.map((): Sample[] => [])
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, server] of servers.entries()) samples[i]?.push(await measureRound(client, server, { ...load, rate }))
    }
    return samples.map(medians)
  } finally {
    client.close()
    await Promise.all(servers.map((server) => server.close()))
    sink.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function start (
  { name, production = true, flags = [] }: Product, application: string, sink: string, folder: string
): Promise<Server> {
  return Server.fork(join(FOLDER, 'server.cjs'), [name, application], flags, {
    NODE_ENV: production ? 'production' : 'development',
    BENCH_FOLDER: folder,
    SINK: sink,
    OTEL_EXPORTER_OTLP_ENDPOINT: sink,
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    SENTRY_DSN: `${sink.replace('//', '//key@')}/1`,
    ELASTIC_APM_SERVER_URL: sink,
    ELASTIC_APM_CLOUD_PROVIDER: 'none'
  })
}

async function measureRound (client: Client, server: Server, load: Omit<Load, 'port' | 'requests'> & { rate: number }): Promise<Sample> {
  const requests = load.rate * SECONDS
  const before = await server.usage()
  const { latencies } = await client.load({ ...load, port: server.port, requests })
  const after = await server.usage()
  return {
    main: (after.main - before.main) / requests,
    all: (after.cpu - before.cpu) / requests,
    p50: latencies[Math.floor(requests * 0.5)] ?? NaN,
    p99: latencies[Math.floor(requests * 0.99)] ?? NaN,
    start: server.started.cpu,
    listening: server.started.elapsed,
    memory: (after.memory ?? NaN) / 2 ** 20
  }
}

function medians (samples: readonly Sample[]): Sample {
  const median = (figure: Figure): number => quartiles(samples.map((sample) => sample[figure])).median
  return Object.fromEntries(FIGURES.map((figure) => [figure, median(figure)])) as unknown as Sample
}

/** Bytes of the packages, with all that they depend on, that an application with Fastify does not have yet. */
function installedSize (packages: readonly string[]): number {
  const shared = closure(['fastify'], PACKAGE)
  const added = [...closure(packages, import.meta.dirname)].filter((folder) => !shared.has(folder))
  return added.reduce((sum, folder) => sum + sizeOf(folder), 0)
}

/** The folders of packages and of their dependencies, as Node.js finds them. */
function closure (packages: readonly string[], from: string, found = new Set<string>()): Set<string> {
  for (const name of packages) {
    const folder = name === 'fastify-hindsight' ? PACKAGE : folderOf(name, from)
    if (folder === undefined || found.has(folder)) continue
    found.add(folder)
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { dependencies?: object }
    closure(Object.keys(manifest.dependencies ?? {}), folder, found)
  }
  return found
}

function folderOf (name: string, from: string): string | undefined {
  const folders = createRequire(join(from, 'package.json')).resolve.paths(name) ?? []
  return folders.map((folder) => join(folder, name)).find((folder) => statSync(folder, { throwIfNoEntry: false })?.isDirectory())
}

function sizeOf (folder: string): number {
  if (folder === PACKAGE) {
    const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: PACKAGE, encoding: 'utf8' })
    return (JSON.parse(listed) as [{ unpackedSize: number }])[0].unpackedSize
  }
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    if (entry.name === 'node_modules') return sum
    const path = join(folder, entry.name)
    return sum + (entry.isDirectory() ? sizeOf(path) : entry.isFile() ? statSync(path).size : 0)
  }, 0)
}
