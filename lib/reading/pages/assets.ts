import { createHash } from 'node:crypto'
import * as exceptions from '../../error-page/exceptions.js'
import { parts } from '../../parts/index.js'
import { readAsset } from '../../view/asset.js'
import * as theme from '../../view/theme.js'

/** A file whose name contains a hash of its content, so that browsers may cache it forever. */
interface Asset {
  /** The last segment of its URL. */
  name: string
  type: string
  content: string
}

/** The stylesheet and script of a kind of page. */
type AssetPair = Readonly<Record<'style' | 'script', Asset>>

const COPY_BUTTON = readAsset(import.meta.url, '../../view/copy-button.js')

/** The stylesheet and script of the profiler's pages. Each part of the script has its own scope. */
export const pageAssets = assetPair(
  // Before the styles of the pages, which adapt them to narrow screens.
  theme.style + exceptions.style + styles('style') + readAsset(import.meta.url, './pages.css'),
  [theme.script, COPY_BUTTON + readAsset(import.meta.url, './script.js')].map((part) => `{\n${part}}\n`).join('')
)

export const toolbarAssets = assetPair(
  readAsset(import.meta.url, './toolbar/style.css') + styles('toolbarStyle'),
  readAsset(import.meta.url, './toolbar/script.js')
)

export const assets: readonly Asset[] = [pageAssets, toolbarAssets].flatMap((pair) => Object.values(pair))

/** The URLs of a pair; `base` is the path of the profiler's routes, without a trailing slash. */
export function addressesOf ({ style, script }: AssetPair, base: string): Record<'style' | 'script', string> {
  return { style: `${base}/assets/${style.name}`, script: `${base}/assets/${script.name}` }
}

function assetPair (style: string, script: string): AssetPair {
  const asset = (extension: string, type: string, content: string): Asset => {
    const hash = createHash('sha256').update(content).digest('hex').slice(0, 16)
    return { name: `${hash}.${extension}`, type, content }
  }
  return {
    style: asset('css', 'text/css; charset=utf-8', style),
    script: asset('js', 'text/javascript; charset=utf-8', script)
  }
}

function styles (of: 'style' | 'toolbarStyle'): string {
  return parts.map((part) => part[of] ?? '').join('')
}
