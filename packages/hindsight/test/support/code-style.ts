import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'

/** What the style of the code bounds, in one file. */
interface FileStyle {
  lines: number
  /** Conditional expressions, `a ? b : c`. */
  conditionals: number
  /** Exported functions whose name is one word. */
  oneWord: string[]
  /** Names with the word `own`, which may be the application's, Hindsight's or "same origin". */
  own: string[]
}

/** `StackFrame.own`, `timing.own` and `ownHooks` are in profiles; the others are names of the language. */
const OWN_NAMES = /^(?:own|ownHooks|hasOwn|ownKeys|getOwnProperty\w+)$/

/** The most conditional expressions in 1,000 lines of a folder. */
const MAX_CONDITIONALS = 30

/** The style of a text of TypeScript. */
export function styleOf (text: string): FileStyle {
  const style: FileStyle = { lines: text.split('\n').length - 1, conditionals: 0, oneWord: [], own: [] }
  const visit = (node: ts.Node): void => {
    if (ts.isConditionalExpression(node)) style.conditionals++
    if (ts.isFunctionDeclaration(node) && isExported(node) && /^[a-z]+$/.test(node.name?.text ?? '')) style.oneWord.push(String(node.name?.text))
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      const words = node.text.split(/(?<=[a-z\d])(?=[A-Z])|[^A-Za-z\d]+/).map((word) => word.toLowerCase())
      if (words.includes('own') && (!OWN_NAMES.test(node.text) || isVariable(node))) style.own.push(node.text)
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('text.ts', text, ts.ScriptTarget.Latest, true))
  return style
}

function isExported (node: ts.FunctionDeclaration): boolean {
  return node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
}

function isVariable ({ parent }: ts.Node): boolean {
  return ts.isVariableDeclaration(parent) || ts.isParameter(parent) || ts.isFunctionDeclaration(parent)
}

/**
 * What the files of a product break, in words. `folderOf`: the folder that a file counts for; `exempt`: functions of one
 * word.
 */
export function styleProblems (
  root: string, files: readonly string[], folderOf: (file: string) => string, exempt: readonly string[]
): string[] {
  const problems: string[] = []
  const folders = new Map<string, { lines: number, conditionals: number }>()
  for (const file of files) {
    const { lines, conditionals, oneWord, own } = styleOf(readFileSync(join(root, file), 'utf8'))
    const folder = folderOf(file)
    const known = folders.get(folder) ?? { lines: 0, conditionals: 0 }
    folders.set(folder, { lines: known.lines + lines, conditionals: known.conditionals + conditionals })
    for (const name of oneWord) if (!exempt.includes(name)) problems.push(`${file}: the exported function ${name} has a name of one word`)
    for (const name of own) problems.push(`${file}: ${name} has the word own`)
  }
  for (const [folder, { lines, conditionals }] of folders) {
    const measured = Math.ceil(conditionals / lines * 1000)
    if (measured <= MAX_CONDITIONALS) continue
    problems.push(`${folder}: ${measured} conditional expressions in 1,000 lines, at most ${MAX_CONDITIONALS}`)
  }
  return problems
}
