import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const MAX_BYTES = 4 * 1024 * 1024
const MAX_DEPENDENCIES = 50
const REVISION = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/
/** Characters of a revision that are shown. */
const SHOWN = 12
const REF = /^ref: (refs\/[\w./@+-]{1,250})$/
const NAME = /^(?:@[\w.~-]{1,100}\/)?[\w.~-]{1,100}$/
const VERSION = /^[\w.+-]{1,50}$/

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
  const common = resolve(git, textOf(join(git, 'commondir')) || '.')
  const head = textOf(join(git, 'HEAD'))
  const ref = REF.exec(head)?.[1]
  const revision = ref === undefined ? head : textOf(join(git, ref)) || textOf(join(common, ref)) || packed(common, ref)
  return REVISION.test(revision) && !ref?.includes('..') ? revision.slice(0, SHOWN) : undefined
}

function packed (git: string, ref: string): string {
  const line = textOf(join(git, 'packed-refs')).split('\n').find((one) => one.trimEnd().endsWith(` ${ref}`))
  return line?.split(' ')[0] ?? ''
}

/** The installed versions of the direct dependencies of an application, as `name@version` texts; at most fifty. */
export function dependenciesOf (folder: string): string[] {
  const manifest = findUp(folder, 'package.json')
  const { dependencies } = manifest === undefined ? {} : manifestOf(manifest)
  if (manifest === undefined || typeof dependencies !== 'object' || dependencies === null) return []
  const names = Object.keys(dependencies).filter((name) => NAME.test(name)).sort().slice(0, MAX_DEPENDENCIES)
  return names.flatMap((name) => {
    const installed = findUp(dirname(manifest), join('node_modules', name, 'package.json'))
    const { version } = installed === undefined ? {} : manifestOf(installed)
    return typeof version === 'string' && VERSION.test(version) ? [`${name}@${version}`] : []
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
