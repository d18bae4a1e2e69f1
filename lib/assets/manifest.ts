import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { httpError } from '../http/http-errors.js'
import type { AssetSettings } from '../options.js'

/** One entry of Vite's `manifest.json`. */
export interface Chunk {
  /** The built file, below the base. */
  file: string
  src?: string
  isEntry?: boolean
  css?: string[]
  assets?: string[]
  /** Other entries of the manifest, by their names. */
  imports?: string[]
  dynamicImports?: string[]
  /** Integrity metadata (SRI), if a plugin of the build has added it. */
  integrity?: string
}

/** A page uses an asset that the build does not have. */
class AssetNotFoundError extends httpError('AssetNotFoundError', 'HINDSIGHT_ASSET_NOT_FOUND', 500) {}

const MAX_NAMED = 20

/** The front-end build of an application, read once at start. */
export class Manifest {
  readonly path: string
  readonly base: string
  readonly #chunks: ReadonlyMap<string, Chunk>
  readonly #integrity = new Map<string, string>()

  /** Throws with the option's name where the manifest, or a built file that it names, cannot be read. */
  constructor ({ manifest, base = '/build/', integrity = false, root = rootOf(manifest) }: AssetSettings) {
    this.path = manifest
    this.base = base.endsWith('/') ? base : `${base}/`
    this.#chunks = read(manifest)
    if (integrity !== false) this.#addIntegrity(root, integrity === true ? 'sha384' : integrity)
  }

  #addIntegrity (root: string, algorithm: string): void {
    for (const { file, css = [], integrity } of this.#chunks.values()) {
      if (integrity !== undefined) this.#integrity.set(file, integrity)
      const built = [file, ...css].filter((name) => !this.#integrity.has(name) && /\.(?:m?js|css)$/.test(name))
      for (const name of built) this.#integrity.set(name, digest(join(root, name), algorithm))
    }
  }

  /** The chunk of a name. Throws with the known names where there is none. */
  chunk (name: string): Chunk {
    const chunk = this.#chunks.get(name)
    if (chunk !== undefined) return chunk
    const entriesFirst = [...this.#chunks].sort(
      ([, a], [, b]) => Number(b.isEntry === true) - Number(a.isEntry === true)
    )
    const known = entriesFirst.slice(0, MAX_NAMED).map(([key]) => key).join(', ') || 'none'
    const more = entriesFirst.length > MAX_NAMED ? ` and ${entriesFirst.length - MAX_NAMED} more` : ''
    throw new AssetNotFoundError(`The asset "${name}" is not in the manifest ${this.path}; known are ${known}${more}.`)
  }

  /** A chunk and all that it imports, itself first, each once; with `dynamic` also what it may import later. */
  closure (name: string, dynamic = false): Chunk[] {
    const found = new Map<string, Chunk>()
    const visit = (key: string): void => {
      if (found.has(key)) return
      const chunk = this.chunk(key)
      found.set(key, chunk)
      chunk.imports?.forEach(visit)
      if (dynamic) chunk.dynamicImports?.forEach(visit)
    }
    visit(name)
    return [...found.values()]
  }

  /** The URL of a built file. */
  url (file: string): string {
    return this.base + file.split('/').map(encodeURIComponent).join('/')
  }

  /** The integrity metadata of a built file, if it has some. */
  integrity (file: string): string | undefined {
    return this.#integrity.get(file)
  }
}

// Vite 5 and later write the manifest into a folder below the built files.
function rootOf (manifest: string): string {
  const folder = dirname(manifest)
  return basename(folder) === '.vite' ? dirname(folder) : folder
}

function read (path: string): ReadonlyMap<string, Chunk> {
  let data: unknown
  try {
    data = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const hint = 'build the front end with build.manifest: true'
    throw new Error(`assets.manifest: ${path} cannot be read (${(error as Error).message}); ${hint}`, { cause: error })
  }
  const fail = (problem: string): never => { throw new Error(`assets.manifest: ${path}${problem}`) }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return fail(' is not a Vite manifest')
  const chunks = new Map(Object.entries(data as Record<string, Chunk>))
  for (const [name, chunk] of chunks) {
    if (typeof chunk?.file !== 'string') fail(` is not a Vite manifest: "${name}" has no file`)
    const missing = [...chunk.imports ?? [], ...chunk.dynamicImports ?? []].find((other) => !chunks.has(other))
    if (missing !== undefined) fail(`: "${name}" imports "${missing}", which is not there`)
  }
  return chunks
}

function digest (path: string, algorithm: string): string {
  try {
    return `${algorithm}-${createHash(algorithm).update(readFileSync(path)).digest('base64')}`
  } catch (error) {
    const hint = 'set assets.root to the folder of the built files'
    throw new Error(`assets.integrity: ${path} cannot be read (${(error as Error).message}); ${hint}`, { cause: error })
  }
}
