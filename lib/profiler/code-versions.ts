import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const MAX_BYTES = 4 * 1024 * 1024
const MAX_DEPENDENCIES = 50
/** The second revision of a line, shortened. */
const REVISION = /^[0-9a-f]{40,64} ([0-9a-f]{12})/
const NAME = /^(?:@[\w.~-]+\/)?[\w.~-]+$/

/** The folder of the program that runs; the working directory where a program of a dependency runs the application. */
export function applicationFolder (program = process.argv[1]): string {
  const isOwn = program !== undefined && !/[\\/]node_modules[\\/]/.test(program) && existsSync(program)
  return isOwn ? dirname(resolve(program)) : process.cwd()
}

/** The git revision that is checked out in a folder, from the files of git; undefined where there is none. */
export function revisionOf (folder: string): string | undefined {
  const found = findUp(folder, '.git')
  if (found === undefined) return undefined
  // In a worktree or a submodule `.git` is a file that names the folder.
  const linked = /^gitdir: (.+)$/.exec(textOf(found))?.[1]
  const git = linked === undefined ? found : resolve(dirname(found), linked)
  // Each line of this log has the revisions before and after a change of HEAD.
  const last = textOf(join(git, 'logs', 'HEAD')).split('\n').at(-1) ?? ''
  return REVISION.exec(last)?.[1]
}

/** The installed versions of the direct dependencies of an application, as `name@version` texts; at most fifty. */
export function dependenciesOf (folder: string): string[] {
  const manifest = findUp(folder, 'package.json')
  if (manifest === undefined) return []
  const { dependencies } = manifestOf(manifest)
  const names = Object.keys(Object(dependencies) as object).filter((name) => NAME.test(name))
  return names.sort().slice(0, MAX_DEPENDENCIES).flatMap((name) => {
    const installed = findUp(dirname(manifest), join('node_modules', name, 'package.json'))
    const { version } = installed === undefined ? {} : manifestOf(installed)
    return typeof version === 'string' ? [`${name}@${version}`] : []
  })
}

function manifestOf (path: string): { dependencies?: unknown, version?: unknown } {
  try {
    return (JSON.parse(textOf(path)) ?? {}) as object
  } catch {
    return {}
  }
}

/** The path in the folder or the nearest folder above it. */
function findUp (folder: string, path: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    if (existsSync(join(at, path))) return join(at, path)
    if (dirname(at) === at) return undefined
  }
}

/** The text of a file without white space at its ends; empty where it cannot be read, or is too large. */
function textOf (path: string): string {
  try {
    const file = statSync(path)
    return file.isFile() && file.size <= MAX_BYTES ? readFileSync(path, 'utf8').trim() : ''
  } catch {
    return ''
  }
}
