import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

interface Manifest {
  name?: string
  version?: string
  dependencies?: Record<string, string>
}

/** The version of this package, and those of what it depends on itself as they are installed, read when they are asked for. */
export function ownVersions (from = import.meta.dirname): { version: string, dependencies: () => Record<string, string> } {
  const root = folderAbove(from, (folder) => manifestIn(folder)?.name !== undefined)
  const manifest = root === null ? null : manifestIn(root)
  if (root === null || manifest === null) return { version: 'unknown', dependencies: () => ({}) }
  return {
    version: manifest.version ?? 'unknown',
    dependencies: () => Object.fromEntries(Object.keys(manifest.dependencies ?? {}).map((name) => [name, installed(root, name)]))
  }
}

// Packages may keep their manifest from being imported; their folder is found like Node.js finds it.
function installed (root: string, name: string): string {
  const holder = folderAbove(root, (folder) => existsSync(join(folder, 'node_modules', name, 'package.json')))
  return holder === null ? 'not installed' : manifestIn(join(holder, 'node_modules', name))?.version ?? 'unknown'
}

function folderAbove (from: string, holds: (folder: string) => boolean): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    if (holds(folder)) return folder
    if (dirname(folder) === folder) return null
  }
}

function manifestIn (folder: string): Manifest | null {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  } catch {
    return null
  }
}
