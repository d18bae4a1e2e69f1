import { readFileSync } from 'node:fs'
// Another name, as bundles to ES modules often begin with a declaration of `createRequire`.
import { createRequire as requireFrom } from 'node:module'

/** The place of this module, in the sources and in the package; a bundle in CommonJS has no `import.meta.url`. */
export const modulePlace: string = (import.meta.url as string | undefined) ?? __filename

const [, found] = /\/(?:src|dist)\/require(\.[jt]s)(?:\?|$)/.exec(modulePlace) ?? []

/** Whether a bundler has moved this module out of its package: no file of the package is at its place. */
export const isBundled = found === undefined

/** `.ts` in the repository, `.js` in the package. */
export const extension = found ?? '.js'

/** Loads a package that is optional or native, which no bundler can include. */
export const require = requireFrom(modulePlace)

/** Reads a file beside a module (`base` is its `import.meta.url`). The build replaces calls by the text. */
export function readText (base: string, name: string): string {
  return readFileSync(new URL(name, base), 'utf8')
}
