import { readText } from '../require.js'

/**
 * Reads a stylesheet or script beside a module as `readText` does, without comments and indentation.
 * Throws if the text would end the element into which it is inlined.
 */
export function readAsset (base: string, name: string): string {
  const text = readText(base, name)
  if (/<\/(?:style|script)|<!--/i.test(text)) throw new Error(`${name} would end the element that it is inlined into`)
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s+/gm, '').replace(/^\/\/.*\n/gm, '')
}
