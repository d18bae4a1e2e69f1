import { join } from 'node:path'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '../..')
const ENTRIES = {
  'fastify-hindsight': 'packages/hindsight/src/index.ts',
  'fastify-hindsight/nest': 'packages/hindsight/src/nest.ts',
  'fastify-hindsight/queries': 'packages/hindsight/src/queries.ts',
  'fastify-hindsight/server-options': 'packages/hindsight/src/server-options.ts',
  'fastify-hindsight/storage': 'packages/hindsight/src/storage.ts',
  'fastify-hindsight/storage-contract': 'packages/hindsight/src/storage-contract.ts'
}

/** The page of what the package exports, as Markdown: names, and the first sentences of their comments. */
export function apiPage (): string {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile) as { config: { compilerOptions: object } }
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT)
  const program = ts.createProgram(Object.values(ENTRIES).map((file) => join(ROOT, file)), options)
  const checker = program.getTypeChecker()
  const sections = Object.entries(ENTRIES).map(([entry, file]) => {
    const source = program.getSourceFile(join(ROOT, file))
    const exported = source === undefined ? undefined : checker.getSymbolAtLocation(source)
    const rows = (exported === undefined ? [] : checker.getExportsOfModule(exported)).map((symbol) => {
      const target = (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol)
      const text = ts.displayPartsToString(target.getDocumentationComment(checker)).replaceAll(/\s+/g, ' ')
      const sentence = (/^.*?[^.]\.(?= [A-Z`]|$)/.exec(text)?.[0] ?? text).replaceAll('|', '\\|')
      return `| \`${symbol.name}\` | ${sentence} |`
    })
    return `## ${entry}

| export | what it is |
|---|---|
${rows.sort().join('\n')}
`
  })
  return `# API types

The exports of the package. An editor shows their types and comments. [Options](options.md) has
\`HindsightOptions\`, [the JSON of a profile](profile.md) has \`Profile\`.
\`fastify-hindsight/register\` is the preload and exports nothing.
[The recorder](recorder.md) has a page.

${sections.join('\n')}`
}
