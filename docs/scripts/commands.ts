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

\`npx fastify-hindsight\` reads the store of profiles, also while the application does not run. The
store is that of \`STORAGE_URL\` and \`DATA_DIR\`, or of \`--storage\` and \`--data-dir\`. [Search
criteria](search.md) describes the criteria.

The exit code is 0, or 1 if something was not found, failed, or the command line is invalid; that of
\`waiting\` is 2 if a request has not ended. Control characters of requests are not printed. JSON and
exports escape them, and characters that reorder text.

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
