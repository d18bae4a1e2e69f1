import { readFileSync } from 'node:fs'
// Another name, as bundles to ES modules often begin with a declaration of `createRequire`.
import { createRequire as requireFrom } from 'node:module'
import { pathToFileURL } from 'node:url'

/** The place of this module, in the sources and in the package; a bundle of ES modules has none for CommonJS. */
export const modulePlace: string = (import.meta.url as string | undefined) ?? pathToFileURL(process.argv[1] ?? '').href

const [, found] = /\/(?:src|dist)\/require(\.ts|\.cjs)(?:\?|$)/.exec(modulePlace) ?? []

/** Whether a bundler has moved this module out of its package: no file of the package is at its place. */
export const isBundled = found === undefined

/** `.ts` in the repository, `.cjs` in the package. */
export const extension = found ?? '.cjs'

/** Loads a package that is optional or native, which no bundler can include. */
export const require = requireFrom(modulePlace)

/** The version of this package. */
export function packageVersion (): string {
  try {
    return (require('fastify-hindsight/package.json') as { version: string }).version
  } catch {
    // A bundler may have moved this module out of its package.
    return 'unknown'
  }
}

/** The version of the package to which a file in `node_modules` belongs; undefined: it is another package's file. */
export function versionOfFile (file: string, name: string): string | undefined {
  const [folder] = new RegExp(`^.*[\\\\/]node_modules[\\\\/]${name}[\\\\/](?!.*node_modules)`).exec(file) ?? []
  if (folder === undefined) return undefined
  return (JSON.parse(readFileSync(`${folder}package.json`, 'utf8')) as { version: string }).version
}

/** Reads a file beside a module (`base` is its `import.meta.url`). The build replaces calls by the text. */
export function readText (base: string, name: string): string {
  return readFileSync(new URL(name, base), 'utf8')
}
