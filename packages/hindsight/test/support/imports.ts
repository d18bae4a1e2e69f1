import { readdirSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import ts from 'typescript'

/** One import as it is written, relative to the root of the tree; a package by its name. */
export interface Import {
  from: string
  to: string
  /** Erased by the compiler. */
  isType: boolean
  /** Loaded when the call of `import()` is reached. */
  isLazy?: boolean
}

/** The TypeScript files below folders of a tree, relative to it. */
export function sourceFiles (root: string, folders: readonly string[]): string[] {
  return folders.flatMap((folder) => readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => posix.join(folder, file.split(sep).join('/'))))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
}

/** All imports of files: static, re-exported, dynamic, and those of types. */
export function importsOf (root: string, files: readonly string[]): Import[] {
  return files.flatMap((file) => importsOfFile(file, readFileSync(join(root, file), 'utf8')))
}

function importsOfFile (from: string, text: string): Import[] {
  const imports: Import[] = []
  const add = (specifier: ts.Node | undefined, isType: boolean, isLazy = false): void => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) return
    const isRelative = /^\.\.?\//.test(specifier.text)
    const to = isRelative ? posix.join(posix.dirname(from), specifier.text).replace(/\.js$/, '.ts') : specifier.text
    imports.push({ from, to, isType, isLazy })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly)
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) add(node.arguments[0], false, true)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(from, text, ts.ScriptTarget.Latest))
  return imports
}

/** Each circle of imports, those of types included, as a path that ends where it began. */
export function circlesOf (imports: readonly Import[]): string[] {
  const next = new Map<string, string[]>()
  for (const { from, to } of imports) next.set(from, [...next.get(from) ?? [], to])
  const found: string[] = []
  const done = new Set<string>()
  const walk = (file: string, path: string[]): void => {
    const start = path.indexOf(file)
    if (start >= 0) found.push([...path.slice(start), file].join(' > '))
    if (start >= 0 || done.has(file)) return
    for (const to of next.get(file) ?? []) walk(to, [...path, file])
    done.add(file)
  }
  for (const file of next.keys()) walk(file, [])
  return found
}

/** The imports that do not go from a higher layer to a lower one, or stay within one part. */
export function upwardImports (imports: readonly Import[], layerOf: (file: string) => readonly [part: string, layer: number]): string[] {
  return imports.filter(({ from, to }) => {
    const [[part, layer], [other, lower]] = [layerOf(from), layerOf(to)]
    return part !== other && layer <= lower
  }).map(textOf)
}

export const textOf = ({ from, to }: Import): string => `${from} > ${to}`
