import * as nodeModule from 'node:module'
import { join } from 'node:path'
import { preparedDrivers, preparedQueues } from './queries/channel.js'
import { observe } from './queries/observe.js'
import { QUEUE_CLIENTS } from './queues.js'
import { versionOfFile } from './require.js'

/** A driver or client of a queue, and the exports that make its clients; `default` is the module itself. */
interface Driver { name: string, makers: readonly string[], nested?: string }

const DATABASES: readonly Driver[] = [
  { name: 'pg', makers: ['Pool', 'Client'], nested: 'native' },
  { name: 'postgres', makers: ['default'] },
  { name: 'better-sqlite3', makers: ['default'] },
  { name: 'mongodb', makers: ['MongoClient'] }
]
const QUEUES = Object.entries(QUEUE_CLIENTS).map(([name, clients]): Driver => ({ name, makers: Object.keys(clients) }))
/** Those that are prepared. */
let DRIVERS: readonly Driver[] = [...DATABASES, ...QUEUES]
/** Marks the address of a module that exports a driver. */
const MARK = '?hindsight-driver'
const SQLITE = 'node:sqlite'

type Maker = new (...args: unknown[]) => object
type Exports = Record<string, unknown>
type Require = ReturnType<typeof nodeModule.createRequire>

interface Resolved { url: string }
interface Context { conditions?: readonly string[] }

/** What `module.registerHooks` of Node.js 22.15 and later receives. */
type RegisterHooks = (hooks: {
  resolve: (specifier: string, context: Context, next: (specifier: string, context: Context) => Resolved) => Resolved
  load: (url: string, context: unknown, next: (url: string, context: unknown) => object) => object
}) => void

const kObserved = Symbol.for('fastify-hindsight.observed-exports')

/**
 * Prepares the database drivers and the clients of queues that the application resolves, before it loads them. Clients
 * of databases are observed when they are made, as by `observe`; those of queues profile their jobs. The exports of a
 * driver are replaced by a proxy; no prototype and no file is changed.
 */
export function prepareDrivers (withQueries = true, withJobs = true): void {
  DRIVERS = [...withQueries ? DATABASES : [], ...withJobs ? QUEUES : []]
  const places = [join(process.cwd(), 'application.js'), process.argv[1] ?? '']
  for (const driver of DRIVERS) {
    for (const place of places) {
      try {
        prepareDriver(driver, nodeModule.createRequire(place))
      } catch {
        // The application has no such driver, or it cannot be loaded.
      }
    }
  }
  prepareImports(withQueries)
}

function prepareDriver (driver: Driver, require: Require): void {
  const { name, makers } = driver
  const file = require.resolve(name)
  const isEarly = require.cache[file] !== undefined
  const exported = require(name) as object
  const loaded = require.cache[file]
  if (loaded === undefined || prepared.has(exported)) return
  if (makers.includes('default')) loaded.exports = observedMaker(exported as Maker)
  else loaded.exports = observedExports(exported, driver)
  prepared.add(loaded.exports as object)
  // Code that has loaded it before makes clients that are not observed.
  const list = QUEUES.includes(driver) ? preparedQueues : preparedDrivers
  if (!isEarly) list.push(`${name} ${versionOfFile(file, name) ?? ''}`.trim())
}

const prepared = new WeakSet<object>()
/** The proxies of makers, so that an export is the same again and again. */
const proxies = new WeakMap<object, object>()

function observedExports (exported: object, driver: Driver): object {
  const { name, makers, nested } = driver
  return new Proxy(exported, {
    get (target, key, receiver) {
      const value: unknown = Reflect.get(target, key, receiver)
      const isMaker = typeof value === 'function' && makers.includes(String(key))
      if (isMaker) return observedMaker(value as Maker, QUEUE_CLIENTS[name]?.[String(key)])
      // The default export of an ES module has the same functions.
      const isNested = key === nested || (key === 'default' && target !== value)
      if (!isNested || typeof value !== 'object' || value === null) return value
      const known = proxies.get(value) ?? observedExports(value, driver)
      proxies.set(value, known)
      return known
    }
  })
}

/**
 * A function or class whose results are observed, or whose arguments are prepared; `instanceof` and subclasses are as
 * without it.
 */
function observedMaker (maker: Maker, prepare?: (args: unknown[]) => unknown[]): Maker {
  const finish = prepare === undefined ? observed : (made: object) => made
  const given = (args: unknown[]): unknown[] => prepare?.(args) ?? args
  const known = proxies.get(maker) ?? new Proxy(maker, {
    construct: (target, args, newTarget) => finish(Reflect.construct(target, given(args), newTarget) as object),
    apply: (target, self, args) => finish(Reflect.apply(target as never, self, given(args)) as object),
    // Containers of dependencies read it. That of a proxy is the text of a native function.
    get (target, key, self): unknown {
      return key === 'toString' ? target.toString.bind(target) : Reflect.get(target, key, self)
    }
  })
  proxies.set(maker, known)
  proxies.set(known, known)
  return known as Maker
}

/** A result that is no client is returned as it is. */
function observed (made: object): object {
  try {
    return observe(made)
  } catch {
    return made
  }
}

/** Prepares what an ES module imports, which is not read from `require.cache`, and the database of Node.js. */
function prepareImports (withQueries: boolean): void {
  Object.assign(globalThis, { [kObserved]: observedImport })
  const { registerHooks } = nodeModule as { registerHooks?: RegisterHooks }
  if (registerHooks === undefined) {
    nodeModule.register(`data:text/javascript,${encodeURIComponent(asyncHooks())}`)
    return
  }
  registerHooks({
    resolve (specifier, context, nextResolve) {
      if (withQueries && specifier === SQLITE) prepareSqlite()
      return marked(specifier, context, nextResolve(specifier, context))
    },
    load: (url, context, nextLoad) => url.includes(MARK) ? moduleOf(url) : nextLoad(url, context)
  })
}

/** The exports of a driver that an ES module imports. */
function observedImport (name: string, exported: Exports): Exports {
  const driver = DRIVERS.find((driver) => driver.name === name) as Driver
  const { makers } = driver
  const { default: main } = exported
  const result: Exports = {}
  for (const maker of makers) {
    // The names of pg before 8.15 are those of its default export alone.
    const value = exported[maker] ?? Object(main)[maker]
    result[maker] = typeof value === 'function' ? observedMaker(value as Maker, QUEUE_CLIENTS[name]?.[maker]) : value
  }
  return makers.includes('default') ? result : { ...result, default: observedExports(Object(main), driver) }
}

function marked (specifier: string, { conditions }: Context, resolved: Resolved): Resolved {
  const isDriver = DRIVERS.some(({ name }) => name === specifier)
  if (!isDriver || !resolved.url.startsWith('file:') || conditions?.includes('import') !== true) return resolved
  return { ...resolved, url: `${resolved.url}${MARK}=${specifier}` }
}

/** A module that exports what a driver exports, with observed makers: its names come before those of `export *`. */
function moduleOf (marked: string) {
  const [url = '', name = ''] = marked.split(`${MARK}=`)
  const { makers } = DRIVERS.find((driver) => driver.name === name) as Driver
  const names = makers.filter((maker) => maker !== 'default')
  const source = `
    import * as original from ${JSON.stringify(url)}
    export * from ${JSON.stringify(url)}
    const observed = globalThis[Symbol.for('fastify-hindsight.observed-exports')](${JSON.stringify(name)}, original)
    export const { ${names.join(', ')} } = observed
    export default observed.default`
  return { format: 'module', shortCircuit: true, source }
}

/** The same hooks for Node.js 20, which runs them in a thread. Stacks show the name that `sourceURL` gives them. */
const asyncHooks = (): string => `
const DRIVERS = ${JSON.stringify(DRIVERS)}
const MARK = ${JSON.stringify(MARK)}
${marked.toString()}
${moduleOf.toString()}
export async function resolve (specifier, context, nextResolve) {
  return marked(specifier, context, await nextResolve(specifier, context))
}
export async function load (url, context, nextLoad) {
  return url.includes(MARK) ? moduleOf(url) : await nextLoad(url, context)
}
//# sourceURL=node_modules/fastify-hindsight/imports.js`

/** When the application loads it: loaded before, it would print its warning in an application without it. */
function prepareSqlite (): void {
  // `require` would call the hooks again.
  const sqlite = process.getBuiltinModule(SQLITE) as unknown as Exports | undefined
  if (sqlite === undefined || prepared.has(sqlite)) return
  prepared.add(sqlite)
  sqlite.DatabaseSync = observedMaker(sqlite.DatabaseSync as Maker)
  // Documented by Node.js for this: the exports of ES modules follow those of CommonJS.
  nodeModule.syncBuiltinESMExports()
  preparedDrivers.push(SQLITE)
}
