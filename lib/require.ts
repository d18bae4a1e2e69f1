import { createRequire } from 'node:module'

/**
 * Loads a CommonJS package at once. For the modules that each application loads at its start, and for packages that
 * few need: an `import` of CommonJS analyses its exports first, which cost 20 ms of CPU each in a process that imports
 * little else.
 */
export const require = createRequire(import.meta.url)
