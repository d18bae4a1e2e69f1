import * as modules from 'node:module'
import type { open } from 'lmdb'

/** What opens the databases of a file. */
export type Open = typeof open

// As CommonJS the engine is one file, as modules it is a dozen: each takes its time at the start.
const require = modules.createRequire(import.meta.url)

/**
 * Loads the engine, without its own source maps: half a megabyte that nobody asks for, which Node.js reads and keeps wherever source maps are on.
 * A Node.js that has `getSourceMapsSupport` can be told to leave those of dependencies alone, and is left as it was told.
 */
export function loadEngine (): Open {
  const reads = process.sourceMapsEnabled && !('getSourceMapsSupport' in modules)
  if (reads) process.setSourceMapsEnabled(false)
  try {
    return (require('lmdb') as { open: Open }).open
  } finally {
    if (reads) process.setSourceMapsEnabled(true)
  }
}
