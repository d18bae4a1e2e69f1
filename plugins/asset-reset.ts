import { readFileSync } from 'node:fs'
import type { FastifyRequest } from 'fastify'
import { noncesOf, type Nonces } from '../lib/http/content-policy.js'
import { listener, Skip, afterBody } from '../lib/full/listener.js'
import { stateOf } from '../lib/lifecycle/request-state.js'
import { httpError } from '../lib/http/http-errors.js'
import type { AssetSettings } from '../lib/options.js'
import { html } from '../lib/view/html.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The URL of a built file, by its name in the manifest (`src/logo.svg`). */
    asset (name: string): string
    /** The `<link>` and `<script>` tags of an entry, without those that this response has already. */
    assetTags (entry: string): string
  }
}

declare module '../lib/lifecycle/request-state.js' {
  interface RequestState {
    /** The tags of front-end assets that the response has already. */
    assets?: Set<string> | undefined
  }
}

const unused = new Skip('the response refers to no asset')

/** Releases the list of tags that the response has. */
export const assetReset = listener('kernel.finish_request', 'asset-reset', (
  app, { assets: settings, contentSecurityPolicy }
) => {
  const manifest = settings === undefined ? null : openManifest(settings)
  const hasNonces = settings?.nonce ?? contentSecurityPolicy !== false

  function configured (): NonNullable<typeof manifest> {
    if (manifest !== null) return manifest
    throw new Error('There are no assets: set the option assets.manifest to the path of a Vite manifest')
  }
  app.decorateRequest('asset', (name: string) => configured().url(name))
  app.decorateRequest('assetTags', function (this: FastifyRequest, entry: string) {
    const state = stateOf(this)
    state.assets ??= new Set()
    return configured().tags(entry, hasNonces ? noncesOf(state) : null, state.assets)
  })
  if (manifest === null) return 'not configured'
  return (request, reply, payload) => {
    const state = stateOf(request)
    const { assets } = state
    if (assets === undefined || assets.size === 0) return unused
    state.recording.collect('assets', () => ({ manifest: manifest.path, base: manifest.base, rendered: [...assets] }))
    afterBody(reply, payload, () => { state.assets = undefined })
  }
})

/** One entry of Vite's `manifest.json`. */
interface Chunk {
  /** The built file, below the base. */
  file: string
  css?: string[]
  /** Other entries of the manifest, by their names. */
  imports?: string[]
  /** Integrity metadata (SRI), if a plugin of the build has added it. */
  integrity?: string
}

/** A page uses an asset that the build does not have. */
class AssetNotFoundError extends httpError('AssetNotFoundError', 'HINDSIGHT_ASSET_NOT_FOUND', 500) {}

const MAX_NAMED = 20

/** The front-end build of an application. Throws with the option's name if its manifest cannot be read. */
function openManifest ({ manifest: path, base: given = '/build/' }: AssetSettings) {
  const base = given.endsWith('/') ? given : `${given}/`
  const chunks = readChunks(path)
  // A file of another host is checked only if it is requested by CORS (SRI, section 3.2.2).
  const crossorigin = /^(?:[a-z]+:)?\/\//i.test(base) ? ' crossorigin="anonymous"' : ''

  function urlOf ({ file }: Pick<Chunk, 'file'>): string {
    return base + file.split('/').map(encodeURIComponent).join('/')
  }

  function chunkOf (name: string): Chunk {
    const chunk = chunks.get(name)
    if (chunk !== undefined) return chunk
    const known = [...chunks.keys()].slice(0, MAX_NAMED).join(', ') || 'none'
    throw new AssetNotFoundError(`The asset "${name}" is not in the manifest ${path}, which has ${known}.`)
  }

  /** A chunk and all that it imports, itself first, each once. */
  function withImports (name: string, found = new Set<Chunk>()): Set<Chunk> {
    const chunk = chunkOf(name)
    if (!found.has(chunk)) {
      found.add(chunk)
      for (const other of chunk.imports ?? []) withImports(other, found)
    }
    return found
  }

  /** The tags of an entry, in Vite's order, without those that are `written`, to which new ones are added. */
  function tags (entry: string, nonces: Nonces | null, written: Set<string>): string {
    function tag (kind: 'stylesheet' | 'script' | 'modulepreload', { file, integrity }: Chunk): string {
      const key = `${kind} ${file}`
      // A script that the page loads needs no preload.
      if (written.has(key) || (kind === 'modulepreload' && written.has(`script ${file}`))) return ''
      written.add(key)
      const nonce = nonces?.[kind === 'stylesheet' ? 'style' : 'script']
      const attributes = (integrity === undefined ? '' : html` integrity="${integrity}"`) + crossorigin +
        (nonce === undefined ? '' : html` nonce="${nonce}"`)
      const element = kind === 'script'
        ? html`<script type="module" src="${urlOf({ file })}"!${attributes}></script>`
        : html`<link rel="${kind}" href="${urlOf({ file })}"!${attributes}>`
      return `${element}\n`
    }
    const [own, ...imports] = [...withImports(entry)] as [Chunk, ...Chunk[]]
    return [
      ...[own, ...imports].flatMap(({ css = [] }) => css).map((file) => tag('stylesheet', { file })),
      tag(own.file.endsWith('.css') ? 'stylesheet' : 'script', own),
      ...imports.map((chunk) => tag('modulepreload', chunk))
    ].join('')
  }

  return { path, base, tags, url: (name: string) => urlOf(chunkOf(name)) }
}

function readChunks (path: string): ReadonlyMap<string, Chunk> {
  try {
    const chunks = new Map(Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, Chunk>))
    for (const [name, chunk] of chunks) {
      if (typeof chunk?.file !== 'string') throw new Error(`"${name}" has no file`)
    }
    return chunks
  } catch (error) {
    const hint = 'build the front end with build.manifest: true'
    throw new Error(`assets.manifest: ${path} cannot be read (${(error as Error).message}); ${hint}`, { cause: error })
  }
}
