import { readFileSync } from 'node:fs'

/**
 * Reads a stylesheet beside a module (`base` is its `import.meta.url`), without comments and insignificant spaces.
 * Throws if the text would end the element into which it is inlined.
 */
export function style (base: string, name: string): string {
  return read(base, name)
    .replace(/\s*([{};,])\s*/g, '$1')
    .replace(/ > /g, '>')
    .replace(/([{;][a-z-]+): +/g, '$1:')
    .replace(/;}/g, '}')
}

/** Reads a script beside a module, without its lines of comments; throws as `style` does. */
export function script (base: string, name: string): string {
  return read(base, name).replace(/^\/\/.*\n/gm, '')
}

function read (base: string, name: string): string {
  const text = readFileSync(new URL(name, base), 'utf8')
  if (/<\/(?:style|script)|<!--/i.test(text)) throw new Error(`${name} would end the element that it is inlined into`)
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s+/gm, '')
}
