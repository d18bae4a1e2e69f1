import { createRequire } from 'node:module'

/**
 * Loads a CommonJS package synchronously: for packages that are loaded at each start, or only when they are needed. An
 * `import` of CommonJS analyzes the exports first, which took 20 ms of CPU in a process that imports little else.
 */
export const require = createRequire(import.meta.url)
