import type { Nonces } from '../http/content-policy.js'
import { html } from '../view/html.js'
import type { Chunk, Manifest } from './manifest.js'

export interface AssetTagsOptions {
  /** Whether what the entry may import later is preloaded too; false by default. */
  dynamic?: boolean
}

/** Writes the tags of one response: each of them once, whoever asks for it. */
export class PageAssets {
  readonly #manifest: Manifest
  readonly #nonces: Nonces | null
  readonly #given: Set<string>

  /** `given` holds what the response has already. */
  constructor (manifest: Manifest, nonces: Nonces | null, given: Set<string>) {
    this.#manifest = manifest
    this.#nonces = nonces
    this.#given = given
  }

  /** All that a page needs of an entry, in Vite's order: its styles and those of its imports, its script, its imports ahead of time. */
  tags (entry: string, { dynamic = false }: AssetTagsOptions = {}): string {
    const chunks = this.#manifest.closure(entry)
    const later = dynamic ? this.#manifest.closure(entry, true).filter((chunk) => !chunks.includes(chunk)) : []
    const [{ file }, ...imports] = chunks as [Chunk, ...Chunk[]]
    return [
      ...chunks.flatMap(({ css = [] }) => css).map((style) => this.#stylesheet(style)),
      isStyle(file) ? this.#stylesheet(file) : this.#script(file),
      ...imports.filter((chunk) => isScript(chunk.file)).map((chunk) => this.#modulePreload(chunk.file)),
      ...later.map((chunk) => this.#preload(chunk))
    ].join('')
  }

  /** Tells the browser to fetch an asset ahead of its use: a script with its imports and styles, a style, a font, an image. */
  preload (name: string): string {
    return this.#manifest.closure(name).map((chunk) => this.#preload(chunk)).join('')
  }

  #preload ({ file, css = [] }: Chunk): string {
    return [file, ...css].map((built) => isScript(built) ? this.#modulePreload(built) : this.#preloadFile(built)).join('')
  }

  #stylesheet (file: string): string {
    return this.#once('stylesheet', file, () => html`<link rel="stylesheet" href="${this.#manifest.url(file)}"!${this.#guards(file, 'style')}>`)
  }

  #script (file: string): string {
    return this.#once('script', file, () => html`<script type="module" src="${this.#manifest.url(file)}"!${this.#guards(file, 'script')}></script>`)
  }

  #modulePreload (file: string): string {
    if (this.#given.has(`script ${file}`)) return ''
    return this.#once('modulepreload', file, () => html`<link rel="modulepreload" href="${this.#manifest.url(file)}"!${this.#guards(file, 'script')}>`)
  }

  #preloadFile (file: string): string {
    if (this.#given.has(`stylesheet ${file}`)) return ''
    const as = destinationOf(file)
    // Fonts and fetches are always asked for by CORS (Fetch, section 3.2.5), and a preload is only used where it was asked for alike.
    const guards = as === 'style' ? this.#guards(file, 'style') : as === 'font' || as === 'fetch' ? ' crossorigin' : ''
    return this.#once('preload', file, () => html`<link rel="preload" href="${this.#manifest.url(file)}" as="${as}"!${guards}>`)
  }

  #guards (file: string, kind: keyof Nonces): string {
    const integrity = this.#manifest.integrity(file)
    const nonce = this.#nonces?.[kind]
    return (integrity === undefined ? '' : html` integrity="${integrity}"`) +
      // Another host's file can be checked only when it was asked for by CORS (SRI, section 3.2.2).
      (/^(?:[a-z]+:)?\/\//i.test(this.#manifest.base) ? ' crossorigin="anonymous"' : '') +
      (nonce === undefined ? '' : html` nonce="${nonce}"`)
  }

  #once (kind: string, file: string, tag: () => string): string {
    const key = `${kind} ${file}`
    if (this.#given.has(key)) return ''
    this.#given.add(key)
    return `${tag()}\n`
  }
}

function isScript (file: string): boolean {
  return /\.m?js$/.test(file)
}

function isStyle (file: string): boolean {
  return file.endsWith('.css')
}

// Fetch, section 2.2.5: what a browser needs to know ahead, so that it asks once.
function destinationOf (file: string): string {
  if (isStyle(file)) return 'style'
  if (/\.(?:woff2?|ttf|otf)$/i.test(file)) return 'font'
  if (/\.(?:png|jpe?g|gif|svg|webp|avif|ico)$/i.test(file)) return 'image'
  return 'fetch'
}
