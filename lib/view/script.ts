import { asset } from './asset.js'

/** Reads a script that lies beside its component, without the comments that stand on lines of their own. */
export function script (base: string, name: string): string {
  return asset(base, name).replace(/^\/\/.*\n/gm, '')
}
