import { asset } from './asset.js'

/** Reads a stylesheet that lies beside its component, without the spaces that only its authors need. */
export function style (base: string, name: string): string {
  return asset(base, name)
    .replace(/\s*([{};,])\s*/g, '$1')
    .replace(/ > /g, '>')
    .replace(/([{;][a-z-]+): +/g, '$1:')
    .replace(/;}/g, '}')
}
