import { writeFile } from 'node:fs/promises'
import {
  callTreeOf, CODE_KINDS, cpuProfileOf, readCpuRecord, refusalOf, type CpuRecord
} from '../../lib/profiler/cpu/record.js'
import type { Profile } from '../../lib/profiler/profile.js'
import { CommandError, type Command } from '../command.js'
import { readFlags } from '../criteria.js'
import { headLines } from '../profile-lines.js'
import { fit, milliseconds, type Terminal } from '../terminal.js'
import { counted } from '../../lib/view/counted.js'
import { namedProfile } from './show.js'

const MOST = 20

/** Shows what the processor did for a request, or writes it as the file that Chrome DevTools and VS Code open. */
export const cpuCommand: Command = {
  name: 'cpu',
  args: '<token | latest>',
  what: 'show what the processor did, or write it as .cpuprofile with -o',
  criteria: true,
  flags: { out: { type: 'string', short: 'o' } },
  help: { out: '(-o) the file to write, which Chrome DevTools and VS Code open; - for standard output' },
  arity: [1, 1],
  async run ({ args: [wanted = ''], flags, terminal, open }) {
    const { criteria } = readFlags(flags)
    const profile = await namedProfile(open, wanted, criteria)
    const record = recordOf(profile)
    const { out } = flags
    if (out === undefined && flags.json !== true) {
      for (const line of lines(profile, record, terminal)) await terminal.line(line)
    } else if (out === undefined || out === '-') await terminal.json(cpuProfileOf(record))
    else {
      await write(String(out), cpuProfileOf(record))
      await terminal.line(`The CPU profile of ${profile.token} was written to ${terminal.style('reset', String(out))}.`)
    }
  }
}

function recordOf ({ token, collectors: { cpu } }: Profile): CpuRecord {
  const record = readCpuRecord(cpu)
  if (record !== null) return record
  const why = refusalOf(cpu) ?? (cpu === undefined ? 'ask for one with the header "x-hindsight-cpu: 1".' : 'its data are not of a form that can be read.')
  throw new CommandError(`${token} has no CPU profile: ${why}`)
}

async function write (path: string, data: object): Promise<void> {
  try {
    await writeFile(path, JSON.stringify(data), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw new CommandError((error as NodeJS.ErrnoException).code === 'EEXIST' ? `${path} is there already.` : `${path} cannot be written: ${(error as Error).message}`)
  }
}

function lines (profile: Profile, record: CpuRecord, terminal: Terminal): string[] {
  const tree = callTreeOf(record)
  const { others, duration } = record
  return [
    ...headLines(profile, terminal),
    `${milliseconds(tree.busy / 1000)} of work in ${milliseconds(duration)}, of the whole process${others === 0 ? '' : `, ${counted(others, 'other request')} included`}`,
    '',
    terminal.style('dim', `  ${'in itself'.padStart(10)}  ${'with calls'.padStart(10)}  function`),
    ...tree.heaviest.slice(0, MOST).map(({ self, total, function: { name, file, line, kind } }) => {
      const place = file === '' ? CODE_KINDS[kind] : `${file}${line === 0 ? '' : `:${line}`}`
      const text = fit(`${name}  ${place}`, terminal.columns - 26)
      return `  ${milliseconds(self / 1000).padStart(10)}  ${terminal.style('dim', milliseconds(total / 1000).padStart(10))}  ${terminal.style(kind === 'own' ? 'yellow' : 'reset', text)}`
    })
  ]
}
