import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Script } from 'node:vm'
import t from 'tap'
import { parse } from 'yaml'
import { readEnvironment } from '../app/environment.js'
import { testdir } from '../packages/hindsight/test/support/folder.js'
import { environmentNames } from '../packages/hindsight/test/support/environment-names.js'
import { pageProblems } from '../packages/hindsight/test/support/snippets.js'

interface Service {
  build?: string | { context: string, target: string }
  image?: string
  profiles?: string[]
  ports?: string[]
  environment?: Record<string, string>
  command?: string[]
  volumes?: string[]
  depends_on?: Record<string, { condition: string }>
  stop_grace_period?: string
  healthcheck?: object
}

const ROOT = join(import.meta.dirname, '..')
const text = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const manifest = JSON.parse(
  text('package.json')
) as { scripts: { start: string }, engines: { node: string }, dependencies: Record<string, string> }
const SECRET = 'a secret of the tests, thirty-two characters and more'

/** The instructions of the Dockerfile, each on one line. */
const instructions = text('Dockerfile').replace(/\\\n/g, ' ').split('\n').filter((line) => line !== '' && !line.startsWith('#')).map((line) => {
  const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
  return { name, rest }
})
const all = (name: string): string[] => instructions.filter((one) => one.name === name).map(({ rest }) => rest)
const variables = Object.fromEntries(all('ENV').flatMap((line) => line.split(/\s+/)).map((pair) => pair.split('=') as [string, string]))
const copied = [...new Set(all('COPY').filter((line) => !line.startsWith('--from')).flatMap((line) => line.split(' ').slice(0, -1)))]
/** As Compose reads it where no variable is set: with the defaults of variables, and anchors merged. */
const compose = parse(
  text('compose.yaml').replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1'), { merge: true }
) as { services: Record<string, Service>, volumes: Record<string, unknown> }
const services = Object.entries(compose.services)

t.test('the Dockerfile copies existing files that .dockerignore includes, and all product folders', async (t) => {
  t.ok(copied.length >= 7)
  for (const path of copied) {
    t.ok(existsSync(join(ROOT, path)), path)
    t.ok(text('.dockerignore').split('\n').includes(`!${path}`), `${path} is let through`)
  }
  for (const line of text('.dockerignore').split('\n').filter((line) => line.startsWith('!'))) t.ok(copied.includes(line.slice(1)), `${line} is copied`)
  for (const folder of ['app', 'lib', 'plugins', 'routes', ...['bin', 'packaging', 'src'].map((name) => `packages/hindsight/${name}`)]) {
    t.ok(copied.includes(folder) && statSync(join(ROOT, folder)).isDirectory())
  }
  t.notOk(copied.some((path) => /node_modules|test|\.env/.test(path)))
})

t.test('the Dockerfile: variables of the service, its port, its command, and an unprivileged user', async (t) => {
  t.same(Object.keys(variables).filter((name) => !environmentNames.includes(name)), [])
  const { host, port, options } = readEnvironment({ ...variables, SESSION_SECRET: SECRET })
  t.match({ host, port, debug: options.debug, health: options.health }, { host: '0.0.0.0', port: 3000, debug: false, health: true })
  t.same(all('EXPOSE'), [String(port)])
  t.same(JSON.parse(all('CMD')[0] ?? '[]'), ['node', 'dist/app/server.js'])
  t.same(all('USER'), ['node'])
  t.ok(
    instructions.findIndex(({ name }) => name === 'USER') > instructions.findLastIndex(({ name }) => name === 'RUN'), 'after the last command that root runs'
  )
  t.match(all('FROM'), [/^node:\d+-slim AS development$/, /^node:\d+-slim AS dependencies$/, /^node:\d+-slim$/])
  t.ok(all('FROM').every((line) => Number(/\d+/.exec(line)?.[0]) >= Number(/\d+/.exec(manifest.engines.node)?.[0])))
  const [install, build, installProduction] = all('RUN')
  t.match([install, build, installProduction], [/^npm ci --ignore-scripts/, 'npm run build', /^npm ci --omit=dev --ignore-scripts/])
  for (const name of ['fastify', 'pg', 'connect-pg-simple']) t.ok(name in manifest.dependencies, name)
  for (const folder of ['dist', 'packages/hindsight/dist']) t.ok(all('COPY').some((line) => line.endsWith(`/app/${folder} ./${folder}`)), folder)
  t.notOk('tsx' in manifest.dependencies, 'production runs the compiled files')
  t.same(all('VOLUME'), [variables.DATA_DIR])
})

t.test('the health check of the Dockerfile requests /livez', async (t) => {
  const [, command = ''] = /HEALTHCHECK[^]*?CMD (\[.*\])/.exec(text('Dockerfile')) ?? []
  const [node, flag, script = ''] = JSON.parse(command) as string[]
  t.same([node, flag], ['node', '-e'])
  t.match(script, '/livez')
  t.match(script, 'process.env.PORT')
  t.doesNotThrow(() => new Script(script))
})

t.test('compose: services have known variables and the port of the service, and wait for PostgreSQL', async (t) => {
  t.same(services.map(([name]) => name), ['service', 'service-2', 'development', 'postgres'])
  for (const [name, { build, image, environment = {}, ports = [], depends_on: needs = {}, volumes = [] }] of services) {
    t.not(build === undefined, image === undefined, `${name} is built, or fetched`)
    if (typeof build === 'object') t.ok(all('FROM').some((from) => from.endsWith(` AS ${build.target}`)), `the stage ${build.target}`)
    if (build !== undefined) t.same(Object.keys(environment).filter((variable) => !environmentNames.includes(variable)), [], name)
    for (const port of ports) t.equal(port.split(':').at(-1), variables.PORT, name)
    for (const need of Object.keys(needs)) t.not(compose.services[need]?.healthcheck, undefined, `${name} waits for ${need}, which says that it is there`)
    for (const volume of volumes) {
      const [from = '', to = ''] = volume.split(':')
      t.ok(from.startsWith('./') ? existsSync(join(ROOT, from)) && to === `/app/${from.slice(2)}` : from in compose.volumes, volume)
    }
    if (environment.STORAGE_URL !== undefined) t.ok(new URL(environment.STORAGE_URL).hostname in compose.services)
  }
  const { service, 'service-2': second, development, postgres } = compose.services
  t.same({ ...second, ports: service?.ports }, service, 'two instances that differ in their port only')
  t.not(second?.ports?.[0], service?.ports?.[0])
  const { username, password, pathname } = new URL(service?.environment?.STORAGE_URL ?? '')
  t.same(postgres?.environment, { POSTGRES_USER: username, POSTGRES_PASSWORD: password, POSTGRES_DB: pathname.slice(1) })
  t.equal(postgres?.ports, undefined)
  const inProduction = readEnvironment({ ...variables, ...service?.environment, SESSION_SECRET: SECRET })
  t.match(
    inProduction,
    { options: { debug: false, profiler: { production: true, onlyExceptions: true, storage: compose.services.service?.environment?.STORAGE_URL } } }
  )
  t.ok(
    parseInt(service?.stop_grace_period ?? '0') * 1000 >= inProduction.closeDelay + inProduction.closeTimeout + 8_000,
    'the time is sufficient for an orderly shutdown'
  )
  t.match(readEnvironment({ ...variables, ...development?.environment, EDITOR_URL: '', EDITOR_PATHS: '', DATA_DIR: testdir(t) }), { options: { debug: true } })
  t.equal(development?.command?.filter((part) => part !== '--watch').join(' '), manifest.scripts.start.replace('exec ', ''))
  t.ok(development?.ports?.every((port) => port.startsWith('127.0.0.1:')), 'only this machine has access in debug mode')
  t.same(development?.profiles, ['development'])
})

t.test('the examples of the container page are valid', async (t) => {
  t.same(pageProblems('docs/how-to/containers.md'), [])
})
