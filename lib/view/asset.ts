import { readFileSync } from 'node:fs'

/** Reads a stylesheet or script that lies beside its component, once, when the component is loaded. */
export function asset (base: string, name: string): string {
  const text = readFileSync(new URL(name, base), 'utf8')
  if (/<\/(?:style|script)|<!--/i.test(text)) throw new Error(`${name} would end the element that it is inlined into`)
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s+/gm, '')
}
