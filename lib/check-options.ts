import {
  checkOptions, OPTIONS as PACKAGE_OPTIONS, readSchemas, ROUTE_OPTIONS, similarName, type OptionSchemas
} from 'fastify-hindsight/recorder'

const { service, server, process: ofProcess, route } = readSchemas(import.meta.url, './options.schema.json')

/** The options of the service: those of its listeners. */
export const LIFECYCLE_OPTIONS: OptionSchemas = service?.properties ?? {}
/** The options of the service, with those of the package. */
export const SERVICE_OPTIONS: OptionSchemas = { ...LIFECYCLE_OPTIONS, ...PACKAGE_OPTIONS }
/** The options of the server that are limits, and how it reads messages. */
export const SERVER_OPTIONS: OptionSchemas = server?.properties ?? {}
/** Settings of the process, which `npm start` reads from the environment. */
export const PROCESS_OPTIONS: OptionSchemas = ofProcess?.properties ?? {}
/** The attributes that routes declare in their `config`. */
export const ROUTE_ATTRIBUTES: OptionSchemas = { ...ROUTE_OPTIONS, ...route?.properties }

/** Checks what a route declares in its `config`. Throws an error that names the route and the attribute. */
export function checkAttributes (route: string, config: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(ROUTE_ATTRIBUTES)
  // Other plugins have keys of their own: only a key that is similar to one of ours is a mistake.
  for (const key of Object.keys(config).filter((key) => !names.includes(key))) {
    const similar = similarName(key, names)
    if (similar !== undefined) {
      throw new Error(`Route "${route}": config.${key} is unknown; did you mean config.${similar}?`)
    }
  }
  const declared = names.filter((name) => config[name] !== undefined)
  try {
    checkOptions(Object.fromEntries(declared.map((name) => [name, config[name]])), ROUTE_ATTRIBUTES, 'config.')
  } catch (error) {
    throw new Error(`Route "${route}": ${(error as Error).message}`)
  }
}
