import { writeFile } from 'node:fs/promises'
import {
  callTreeOf, CODE_KINDS, cpuProfileOf, readCpuRecord, refusalOf, type CpuRecord
} from '../../lib/profiler/cpu/record.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { counted } from '../../lib/view/counted.js'
import { CommandError, namedProfile, notWritable, type Command } from '../command.js'
import { fit, headLines, milliseconds, type Terminal } from '../terminal.js'

const MAX_FUNCTIONS = 20

export const cpuCommand: Command = {
  name: 'cpu',
  args: '<token | latest>',
  summary: 'show the functions that took the most CPU time, or write a .cpuprofile with -o',
  criteria: 'all',
  options: {
    out: { type: 'string', short: 'o', help: '(-o) a file for Chrome DevTools and VS Code; - for standard output' }
  },
  arity: [1, 1],
  run: async (context) => {
    const { flags: { out, json }, terminal } = context
    const profile = await namedProfile(context)
    const record = recordOf(profile)
    if (out === '-' || (out === undefined && json === true)) return await terminal.json(cpuProfileOf(record))
    if (out === undefined) {
      return await terminal.lines([...headLines(profile, terminal), ...recordLines(record, terminal)])
    }
    const path = String(out)
    try {
      await writeFile(path, JSON.stringify(cpuProfileOf(record)), { flag: 'wx', mode: 0o600 })
    } catch (error) {
      throw notWritable(path, error)
    }
    await terminal.line(`The CPU profile of ${profile.token} was written to ${terminal.style('reset', path)}.`)
  }
}

function recordOf ({ token, collectors: { cpu } }: Profile): CpuRecord {
  const record = readCpuRecord(cpu)
  if (record !== null) return record
  const reason = cpu === undefined ? 'request one with the header "x-hindsight-cpu: 1".' : 'its data cannot be read.'
  throw new CommandError(`${token} has no CPU profile: ${refusalOf(cpu) ?? reason}`)
}

function recordLines (record: CpuRecord, terminal: Terminal): string[] {
  const tree = callTreeOf(record)
  const { others, duration } = record
  const included = others === 0 ? '' : `, ${counted(others, 'other request')} included`
  return [
    `${milliseconds(tree.busy / 1000)} of work in ${milliseconds(duration)}, of the whole process${included}`,
    '',
    terminal.style('dim', `  ${'in itself'.padStart(10)}  ${'with calls'.padStart(10)}  function`),
    ...tree.heaviest.slice(0, MAX_FUNCTIONS).map(({ self, total, function: { name, file, line, kind } }) => {
      const place = file === '' ? CODE_KINDS[kind] : `${file}${line === 0 ? '' : `:${line}`}`
      const text = terminal.style(kind === 'own' ? 'yellow' : 'reset', fit(`${name}  ${place}`, terminal.columns - 26))
      const [own = '', all = ''] = [self, total].map((time) => milliseconds(time / 1000).padStart(10))
      return `  ${own}  ${terminal.style('dim', all)}  ${text}`
    })
  ]
}
