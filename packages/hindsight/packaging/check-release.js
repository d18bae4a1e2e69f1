// Checks that this commit can be published, and does so without sending anything: `npm run release:check`.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const PACKAGE = join(import.meta.dirname, '..')
const ROOT = join(PACKAGE, '../..')
const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'))
const changes = readFileSync(join(PACKAGE, 'CHANGELOG.md'), 'utf8')

/** What a command prints in the repository. */
function outputOf (program, ...args) {
  return execFileSync(program, args, { cwd: ROOT, encoding: 'utf8' }).trim()
}

const problems = []
const tags = outputOf('git', 'tag', '--points-at', 'HEAD').split('\n')
if (!tags.includes(`v${version}`)) problems.push(`This commit does not have the tag v${version}.`)
if (outputOf('git', 'status', '--porcelain') !== '') problems.push('There are changes that are not committed.')
if (!changes.includes(`\n## [${version}]`)) problems.push(`CHANGELOG.md has no section "## [${version}]".`)
for (const problem of problems) process.stderr.write(`${problem}\n`)
if (problems.length > 0) process.exit(1)
const publish = ['publish', '-w', 'fastify-hindsight', '--dry-run', '--access', 'public']
execFileSync('npm', publish, { cwd: ROOT, stdio: 'inherit' })
