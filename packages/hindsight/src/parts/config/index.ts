import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { attemptCall, cachedFunction, parsedJson, textOfFile } from '../../call.js'
import type { WorkServices } from '../../recording/trace.js'
import { packageVersion } from '../../require.js'
import { pairsSection } from '../../view/components.js'
import type { Part } from '../part.js'
import type { Data } from '../read.js'
import type { Values } from '../section.js'

/** Versions, and a hash of the options. */
export const config: Part<Data> = {
  name: 'config',
  ofApplication: openConfiguration,
  panel: {
    label: 'Environment',
    group: 'environment',
    render (data) {
      const { machine, id } = data
      const values = Object.entries({ ...configurationOf(data), machine, 'configuration id': id })
      const known = Object.fromEntries(values.filter(([, value]) => value !== undefined))
      const dependencies = dependencyVersions(data)
      return [
        pairsSection('Code and configuration', known),
        dependencies.length > 0 && pairsSection('Dependencies', Object.fromEntries(dependencies))
      ]
    }
  },
  differences: [{ order: 90, values: environmentOf }],
  search: {
    revision: {
      valueOf: ({ revision }) => revision,
      pattern: /^[0-9a-f]{1,12}$/,
      problem: 'not the beginning of a revision of git',
      help: 'beginning of the revision of git',
      column: null
    },
    machine: {
      valueOf: ({ machine }) => machine,
      pattern: /^[\w.-]{1,253}$/,
      problem: 'not the name of a machine',
      help: 'name of the machine, where several share a store',
      column: 'Machine'
    }
  }
}

/** What may differ between two requests. */
function environmentOf (data: Data): Values {
  return {
    ...configurationOf(data),
    ...Object.fromEntries(dependencyVersions(data).map(([name, version]) => [`dependency ${name}`, version])),
    // It covers the options, which are not stored.
    'configuration id': data.id
  }
}

function configurationOf ({ revision, mode, node, fastify, hindsight }: Data): Values {
  return {
    'code revision (git)': revision,
    'configuration NODE_ENV': mode === '' ? 'not set' : mode,
    'Node.js': node,
    Fastify: fastify,
    Hindsight: hindsight
  }
}

function dependencyVersions ({ dependencies }: Data): Array<[name: string, version: string]> {
  const found = String(dependencies ?? '').matchAll(/(\S+)@([^\s@]+)/g)
  return [...found].map(([, name = '', version = '']) => [name, version])
}

const MAX_DEPENDENCIES = 50
/** The second revision of a line, shortened. */
const REVISION = /^[0-9a-f]{40,64} ([0-9a-f]{12})/

/** Returns the function that makes the summary for the profiles of an application, which its `id` identifies. */
function openConfiguration ({ app, mask, debug, lifecycle }: WorkServices, options: object): () => Data {
  const folder = process.cwd()
  // Later the folder may have another one than the code that was loaded.
  const revision = debug ? revisionOf(folder) : undefined
  const hindsight = packageVersion()
  return () => {
    const { node } = process.versions
    const shown = { node, fastify: app?.version, hindsight, mode: process.env.NODE_ENV ?? '' }
    // The name `session` would hide all of its options.
    const { session, ...others } = (lifecycle?.options ?? options) as { session?: unknown }
    const text = JSON.stringify([shown, mask.value(others), mask.value(session), app?.initialConfig])
    const id = createHash('sha256').update(text).digest('hex').slice(0, 12)
    const dependencies = debug ? loadedDependencies(folder) : ''
    const known = { ...revision !== undefined && { revision }, ...dependencies !== '' && { dependencies } }
    return { id, ...shown, machine: hostname(), ...known }
  }
}

// What the process has loaded stays the same. To read the manifests takes a millisecond, for each test of a suite.
const loadedDependencies = cachedFunction((folder: string) => dependenciesOf(folder).join(' '))

/** The git revision that is checked out in a folder, from the files of git; undefined where there is none. */
export function revisionOf (folder: string): string | undefined {
  const found = findUp(folder, '.git')
  if (found === undefined) return undefined
  // In a worktree or a submodule `.git` is a file that names the folder.
  const linked = /^gitdir: (.+)$/.exec(textOfFile(found))?.[1]
  const git = resolve(dirname(found), linked ?? found)
  // Each line of this log has the revisions before and after a change of HEAD.
  const last = textOfFile(join(git, 'logs', 'HEAD')).split('\n').at(-1) ?? ''
  return REVISION.exec(last)?.[1]
}

/** The installed versions of the direct dependencies of an application, as `name@version` texts; at most fifty. */
export function dependenciesOf (folder: string): string[] {
  const manifest = findUp(folder, 'package.json')
  if (manifest === undefined) return []
  const { dependencies } = manifestOf(manifest)
  const names = Object.keys(Object(dependencies) as object)
  return names.sort().slice(0, MAX_DEPENDENCIES).flatMap((name) => {
    const installed = findUp(dirname(manifest), join('node_modules', name, 'package.json'))
    if (installed === undefined) return []
    const { version } = manifestOf(installed)
    return typeof version === 'string' ? [`${name}@${version}`] : []
  })
}

function manifestOf (path: string): { dependencies?: unknown, version?: unknown } {
  return Object(parsedJson(textOfFile(path))) as object
}

/** The path in the folder or the nearest folder above it. */
function findUp (folder: string, path: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    // Under the permission model of Node.js 20 and 22 this throws.
    if (attemptCall(() => existsSync(join(at, path)), () => false)) return join(at, path)
    if (dirname(at) === at) return undefined
  }
}
