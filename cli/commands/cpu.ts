import { writeFile } from 'node:fs/promises'
import {
  callTreeOf, CODE_KINDS, cpuProfileOf, readCpuRecord, refusalOf, type CpuRecord
} from '../../lib/profiler/cpu/record.js'
import { milliseconds } from '../../lib/profiler/pages/components.js'
import { visibleJson } from '../../lib/view/json.js'
import { CommandError, findProfile, searchOf, type Command } from '../command.js'
import { fit, headLines, type Formatter } from '../terminal.js'

const MAX_FUNCTIONS = 20

export const cpu: Command = {
  args: '<token | latest>',
  summary: 'show the functions by CPU time, or write a .cpuprofile (-o)',
  criteria: 'all',
  options: {
    out: { type: 'string', short: 'o', help: '(-o) a file for Chrome DevTools and VS Code; - for standard output' }
  },
  run: async ({ args: [wanted = ''], flags, terminal, open }) => {
    const profile = await findProfile(open, wanted, searchOf(flags).criteria)
    const { token, collectors: { cpu } } = profile
    const record = readCpuRecord(cpu)
    if (record === null) {
      const advice = cpu === undefined
        ? 'request one with the header "x-hindsight-cpu: 1".'
        : 'its data cannot be read.'
      throw new CommandError(`${token} has no CPU profile: ${refusalOf(cpu) ?? advice}`)
    }
    const path = String(flags.out ?? (flags.json === true ? '-' : ''))
    if (path === '') return await terminal.lines([...headLines(profile, terminal), ...recordLines(record, terminal)])
    if (path === '-') return await terminal.json(cpuProfileOf(record))
    await writeFile(path, visibleJson(cpuProfileOf(record)), { flag: 'wx', mode: 0o600 })
    await terminal.line(`The CPU profile of ${token} was written to ${terminal.style('reset', path)}.`)
  }
}

function recordLines (record: CpuRecord, { columns, style }: Formatter): string[] {
  const { busy, heaviest } = callTreeOf(record)
  const row = (own: string, total: string): string => `  ${own.padStart(10)}  ${style('dim', total.padStart(10))}  `
  return [
    `${milliseconds(busy / 1000)} CPU time in ${milliseconds(record.duration)}, whole process`,
    '',
    `${row('Self', 'Total')}${style('dim', 'Function')}`,
    ...heaviest.slice(0, MAX_FUNCTIONS).map(({ self, total, function: { name, file, line, kind } }) => {
      const place = file === '' ? CODE_KINDS[kind] : `${file}${line === 0 ? '' : `:${line}`}`
      const text = style(kind === 'own' ? 'yellow' : 'reset', fit(`${name}  ${place}`, columns - 26))
      return row(milliseconds(self / 1000), milliseconds(total / 1000)) + text
    })
  ]
}
