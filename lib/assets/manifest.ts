import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import createError, { type FastifyErrorConstructor } from '@fastify/error'

/** One entry of Vite's `manifest.json`, as far as pages need it. */
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
  /** Integrity metadata (SRI), where a plugin of the build has put it there. */
  integrity?: string
}

export type IntegrityAlgorithm = 'sha256' | 'sha384' | 'sha512'

export interface AssetSettings {
  /** The path of the `manifest.json` that `vite build` writes (`build.manifest: true`). */
  manifest: string
  /** Where the built files are served: a path, or an absolute URL of another host. `/build/` */
  base?: string
  /**
   * Whether tags carry integrity metadata (SRI): that of the manifest where it has some, else computed once at start
   * from the built files; true is `sha384`. false
   */
  integrity?: boolean | IntegrityAlgorithm
  /** The folder of the built files; by default the one that the manifest lies in, or the one above `.vite`. */
  root?: string
  /** Whether tags carry the nonces of the response's policy; by default where `contentSecurityPolicy` is not false. */
  nonce?: boolean
}

/** A page asks for an asset that the build does not have: a mistake of the application. */
export const AssetNotFoundError: FastifyErrorConstructor<{ code: string }, [name: string, manifest: string, known: string]> = createError<[name: string, manifest: string, known: string]>(
  'HINDSIGHT_ASSET_NOT_FOUND', 'The asset "%s" is not in the manifest %s; known are %s.', 500)

const ALGORITHMS = ['sha256', 'sha384', 'sha512']
const MAX_NAMED = 20

/** The front-end build of an application, read once at start. */
export class Manifest {
  readonly path: string
  readonly base: string
  readonly #chunks: ReadonlyMap<string, Chunk>
  readonly #integrity: ReadonlyMap<string, string>

  /** Throws with the option's name where the manifest, or a built file that it names, cannot be read. */
  constructor (settings: AssetSettings) {
    assertSettings(settings)
    const { manifest, base = '/build/', integrity = false, root = rootOf(manifest) } = settings
    this.path = manifest
    this.base = base.endsWith('/') ? base : `${base}/`
    this.#chunks = read(manifest)
    this.#integrity = integrity === false ? new Map() : integrityOf(this.#chunks.values(), root, integrity === true ? 'sha384' : integrity)
  }

  /** The chunk of a name, as it stands in the manifest; the error names those that do. */
  chunk (name: string): Chunk {
    const chunk = this.#chunks.get(name)
    if (chunk !== undefined) return chunk
    const names = [...this.#chunks.entries()].sort(([, a], [, b]) => Number(b.isEntry === true) - Number(a.isEntry === true)).map(([known]) => known)
    const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
    throw new AssetNotFoundError(name, this.path, names.length === 0 ? 'none' : names.slice(0, MAX_NAMED).join(', ') + more)
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

  url (file: string): string {
    return this.base + file.split('/').map(encodeURIComponent).join('/')
  }

  /** The integrity metadata of a built file, where there is some. */
  integrity (file: string): string | undefined {
    return this.#integrity.get(file)
  }
}

function assertSettings (settings: AssetSettings): void {
  if (typeof settings?.manifest !== 'string') throw new Error('assets.manifest must be the path of a Vite manifest')
  const { integrity = false } = settings
  if (typeof integrity !== 'boolean' && !ALGORITHMS.includes(integrity)) {
    throw new Error(`assets.integrity must be true, false or one of ${ALGORITHMS.join(', ')}, not ${JSON.stringify(integrity)}`)
  }
}

// Vite 5 and later keep the manifest in a folder of its own below the built files.
function rootOf (manifest: string): string {
  const folder = dirname(manifest)
  return basename(folder) === '.vite' ? dirname(folder) : folder
}

function read (path: string): ReadonlyMap<string, Chunk> {
  let data: unknown
  try {
    data = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new Error(`assets.manifest: ${path} cannot be read (${(error as Error).message}); build the front end with build.manifest: true`, { cause: error })
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data)) throw new Error(`assets.manifest: ${path} is not a Vite manifest`)
  const chunks = new Map(Object.entries(data as Record<string, Chunk>))
  for (const [name, chunk] of chunks) {
    if (typeof chunk?.file !== 'string') throw new Error(`assets.manifest: ${path} is not a Vite manifest: "${name}" has no file`)
    const lost = [...chunk.imports ?? [], ...chunk.dynamicImports ?? []].find((other) => !chunks.has(other))
    if (lost !== undefined) throw new Error(`assets.manifest: ${path}: "${name}" imports "${lost}", which is not there`)
  }
  return chunks
}

function integrityOf (chunks: Iterable<Chunk>, root: string, algorithm: IntegrityAlgorithm): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const { file, css = [], integrity } of chunks) {
    if (integrity !== undefined) found.set(file, integrity)
    for (const built of [file, ...css]) {
      if (!found.has(built) && /\.(?:m?js|css)$/.test(built)) found.set(built, digest(join(root, built), algorithm))
    }
  }
  return found
}

function digest (path: string, algorithm: IntegrityAlgorithm): string {
  try {
    return `${algorithm}-${createHash(algorithm).update(readFileSync(path)).digest('base64')}`
  } catch (error) {
    throw new Error(`assets.integrity: ${path} cannot be read (${(error as Error).message}); set assets.root to the folder of the built files`, { cause: error })
  }
}
