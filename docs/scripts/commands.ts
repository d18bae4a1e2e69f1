import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { COMMANDS, executeCommand } from '../../packages/hindsight/src/cli/run.js'

/** The page of the command line, as Markdown: the help of each command. */
export async function commandsPage (): Promise<string> {
  // Most commands have these options: they are printed once.
  const shared = (await printed(['tail', '--help'])).split('\n').filter((line) => line.startsWith('  --'))
  const sections = await Promise.all(Object.keys(COMMANDS).map(async (name) => {
    const lines = (await printed([name, '--help'])).split('\n')
    const criteria = lines.some((line) => line.startsWith('  --ip ')) ? '  and the criteria\n' : ''
    return `## ${name}

\`\`\`text
${lines.filter((line) => !shared.includes(line)).join('\n').trimEnd()}
${criteria}\`\`\`
`
  }))
  return `# Command line

\`npx fastify-hindsight app.js\` starts an application with the
[preload](../how-to/existing-application.md#one-command). The commands read the store of profiles,
also while the application does not run. The store is that of \`STORAGE_URL\` and \`DATA_DIR\`, or of
\`--storage\` and \`--data-dir\`. [Search criteria](search.md) describes the criteria.

| exit code | meaning |
|---|---|
| 0 | done |
| that of the application | where the command has started one; after a signal, the same signal ends the command |
| 1 | something was not found, or failed, or the command line is invalid; the message is on the standard error |
| 2 | the answer needs attention: \`list --issues\` has found a profile, \`queries\` a failure or a problem, \`compare\` a difference, \`waiting\` a request that has not ended; the request of \`replay\` has failed again |

| command | JSON of \`--json\` |
|---|---|
| \`list\` | \`{ "profiles": [ … ], "next" }\`, as [search.json](search.md#json) |
| \`tail\` | one summary in each line |
| \`show\` | the [profile](profile.md); with \`--part\`, the data of that part |
| \`queries\` | \`{ "token", "count", "duration", "failed", "findings", "groups", "queries" }\`, as [collectors.queries](profile.md#queries); without queries only \`token\`, \`count\`, \`findings\` and \`queries\` |
| \`compare\` | a [comparison](comparison.md) |
| \`replay\` | \`{ "token", "replayOf", "status", "comparison", "failed", "unset" }\`; \`unset\`: the masked values that were not sent |
| \`waiting\` | \`{ "waiting": [ … ], "tracing" }\`, as [waiting.json](routes.md) |
| \`lifecycle\` | a list of \`{ "route", "place", "hooks": [{ "stage", "hook", "place" }], "schema" }\` |
| \`to\` | \`{ "file", "text" }\` |
| \`skill\` | \`{ "path", "written", "content" }\` |
| \`purge\` | \`{ "purged" }\` |

Control characters of requests are not printed. JSON and exports escape them, and characters that
reorder text. Only a terminal receives colors, and lines of its width: sentences are continued on
the next line, and other texts are shortened. \`show\` prints Markdown, whose lines are as long as
they are.

\`\`\`text
${await printed(['help'])}
\`\`\`

## Criteria and common options

All commands have the last four of these options:

\`\`\`text
${shared.join('\n')}
\`\`\`

${sections.join('\n')}`
}

async function printed (args: string[]): Promise<string> {
  const out = new PassThrough()
  const [help] = await Promise.all([text(out), executeCommand(args, out, process.stderr).then(() => out.end())])
  return help.trimEnd()
}
