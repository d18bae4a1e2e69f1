import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { COMMANDS, execute } from '../../cli/run.js'

/** The page of the command line, as Markdown: the help of each command. */
export async function commandsPage (): Promise<string> {
  const sections = await Promise.all(Object.keys(COMMANDS).map(async (name) => `## ${name}

\`\`\`text
${await printed([name, '--help'])}
\`\`\`
`))
  return `# Command line

\`npx fastify-hindsight\` reads the store of profiles while the application runs and when it does not.
The store is the one that \`STORAGE_URL\` and \`DATA_DIR\` name, or \`--storage\` and \`--data-dir\`.

The exit code is 0 where the command was successful, 1 where something was not found or failed, and
2 where the command line is invalid. Control characters that requests contained are not printed. In
JSON and exports they, and characters that reorder text, are escaped. The criteria are described in
[search criteria](search.md).

\`\`\`text
${await printed(['help'])}
\`\`\`

${sections.join('\n')}`
}

async function printed (args: string[]): Promise<string> {
  const out = new PassThrough()
  const [help] = await Promise.all([text(out), execute(args, out, process.stderr).then(() => out.end())])
  return help.trimEnd()
}
