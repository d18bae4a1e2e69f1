import type { Command } from './command.js'
import { CRITERIA_HELP } from './criteria.js'

const COMMON: Readonly<Record<string, string>> = {
  json: 'for programs',
  storage: 'sqlite, or postgres://… (STORAGE_URL)',
  'data-dir': 'the folder of the SQLite file (DATA_DIR)',
  help: 'this page'
}

/** What the command line can do. */
export function help (commands: readonly Command[]): string {
  return [
    'Reads the profiles that an application has stored, while it runs or after it has ended.',
    '',
    'Usage: fastify-hindsight <command> [flags]',
    '',
    ...commands.map(({ name, args, what }) => `  ${`${name} ${args}`.padEnd(24)} ${what}`),
    '',
    '"fastify-hindsight <command> --help" lists its flags.'
  ].join('\n')
}

/** What one command can do. */
export function commandHelp ({ name, args, what, criteria = false, help: own = {} }: Command): string {
  return [
    `Usage: fastify-hindsight ${[name, args].filter((part) => part !== '').join(' ')} [flags]: ${what}.`,
    ...Object.keys(own).length > 0 ? ['', ...flagLines(own)] : [],
    ...criteria ? ['', 'Criteria, all of which must hold:', ...flagLines(CRITERIA_HELP)] : [],
    '',
    ...flagLines(COMMON)
  ].join('\n')
}

function flagLines (flags: Readonly<Record<string, string>>): string[] {
  return Object.entries(flags).map(([flag, what]) => `  --${flag.padEnd(14)} ${what}`)
}
