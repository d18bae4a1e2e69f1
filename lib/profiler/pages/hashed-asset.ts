import { createHash } from 'node:crypto'

/** A stylesheet or script whose name contains a hash of its content, so that browsers may keep it for ever. */
export interface HashedAsset {
  /** The last part of its address. */
  name: string
  type: string
  content: string
}

/** The stylesheet and the script of a kind of page. */
export type AssetPair = Readonly<Record<'style' | 'script', HashedAsset>>

export function assetPair (style: string, script: string): AssetPair {
  return {
    style: hashedAsset('css', 'text/css; charset=utf-8', style),
    script: hashedAsset('js', 'text/javascript; charset=utf-8', script)
  }
}

/** The addresses of a pair; `base` is the path of the profiler's routes, without a slash at the end. */
export function addressesOf ({ style, script }: AssetPair, base: string): Record<'style' | 'script', string> {
  return { style: `${base}/assets/${style.name}`, script: `${base}/assets/${script.name}` }
}

function hashedAsset (extension: string, type: string, content: string): HashedAsset {
  return { name: `${createHash('sha256').update(content).digest('hex').slice(0, 16)}.${extension}`, type, content }
}
