import type { Nonces } from '../http/content-policy.js'
import { html } from '../view/html.js'
import type { Chunk, Manifest } from './manifest.js'

export interface AssetTagsOptions {
  /** Whether what the entry may import later is preloaded too; false by default. */
  dynamic?: boolean
}

/** Makes the tags of one response, each of them once. */
export class PageAssets {
  readonly #manifest: Manifest
  readonly #nonces: Nonces | null
  readonly #written: Set<string>

  /** `written`: the tags that the response already has; new ones are added. */
  constructor (manifest: Manifest, nonces: Nonces | null, written: Set<string>) {
    this.#manifest = manifest
    this.#nonces = nonces
    this.#written = written
  }

  /** The URL of a built file, by its name in the manifest. */
  url (name: string): string {
    return this.#manifest.url(this.#manifest.chunk(name).file)
  }

  /**
   * All tags that a page needs for an entry, in Vite's order: its styles and those of its imports, its script, preloads
   * of its imports.
   */
  tags (entry: string, { dynamic = false }: AssetTagsOptions = {}): string {
    const chunks = this.#manifest.closure(entry)
    const later = dynamic ? this.#manifest.closure(entry, true).filter((chunk) => !chunks.includes(chunk)) : []
    const [{ file }, ...imports] = chunks as [Chunk, ...Chunk[]]
    return [
      ...chunks.flatMap(({ css = [] }) => css).map((style) => this.#tag('stylesheet', style)),
      this.#tag(isStyle(file) ? 'stylesheet' : 'script', file),
      ...imports.filter((chunk) => isScript(chunk.file)).map((chunk) => this.#tag('modulepreload', chunk.file)),
      ...later.map((chunk) => this.#preload(chunk))
    ].join('')
  }

  /** The tags that fetch an asset before its use: a script with its imports and styles, a style, a font, an image. */
  preload (name: string): string {
    return this.#manifest.closure(name).map((chunk) => this.#preload(chunk)).join('')
  }

  #preload ({ file, css = [] }: Chunk): string {
    return [file, ...css].map((built) => this.#tag(isScript(built) ? 'modulepreload' : 'preload', built)).join('')
  }

  #tag (kind: 'stylesheet' | 'script' | 'modulepreload' | 'preload', file: string): string {
    // What is loaded already needs no preload.
    const loaded = kind === 'modulepreload' ? `script ${file}` : kind === 'preload' ? `stylesheet ${file}` : ''
    const key = `${kind} ${file}`
    if (this.#written.has(key) || this.#written.has(loaded)) return ''
    this.#written.add(key)
    const url = this.#manifest.url(file)
    const as = kind === 'script' || kind === 'modulepreload' ? 'script' : destinationOf(file)
    // Fonts and fetches are always requested by CORS (Fetch, section 3.2.5); only an equal request uses a preload.
    const crossorigin = as === 'font' || as === 'fetch' ? ' crossorigin' : ''
    const attributes = as === 'script' || as === 'style' ? this.#attributes(file, as) : crossorigin
    const tag = kind === 'script'
      ? html`<script type="module" src="${url}"!${attributes}></script>`
      : html`<link rel="${kind}" href="${url}"!${kind === 'preload' ? ` as="${as}"` : ''}!${attributes}>`
    return `${tag}\n`
  }

  #attributes (file: string, kind: keyof Nonces): string {
    const integrity = this.#manifest.integrity(file)
    const nonce = this.#nonces?.[kind]
    return (integrity === undefined ? '' : html` integrity="${integrity}"`) +
      // A file of another host is checked only if it is requested by CORS (SRI, section 3.2.2).
      (/^(?:[a-z]+:)?\/\//i.test(this.#manifest.base) ? ' crossorigin="anonymous"' : '') +
      (nonce === undefined ? '' : html` nonce="${nonce}"`)
  }
}

function isScript (file: string): boolean {
  return /\.m?js$/.test(file)
}

function isStyle (file: string): boolean {
  return file.endsWith('.css')
}

// Fetch, section 2.2.5.
function destinationOf (file: string): 'style' | 'font' | 'image' | 'fetch' {
  if (isStyle(file)) return 'style'
  if (/\.(?:woff2?|ttf|otf)$/i.test(file)) return 'font'
  if (/\.(?:png|jpe?g|gif|svg|webp|avif|ico)$/i.test(file)) return 'image'
  return 'fetch'
}
