import type { Command } from './command.js'
import { compareCommand } from './commands/compare.js'
import { cpuCommand } from './commands/cpu.js'
import { exportCommand } from './commands/export.js'
import { headersCommand } from './commands/headers.js'
import { importCommand } from './commands/import.js'
import { lifecycleCommand } from './commands/lifecycle.js'
import { listCommand, searchCommand } from './commands/list.js'
import { mcpCommand } from './commands/mcp.js'
import { pinCommand, unpinCommand } from './commands/pin.js'
import { purgeCommand } from './commands/purge.js'
import { replayCommand } from './commands/replay.js'
import { showCommand } from './commands/show.js'
import { tailCommand } from './commands/tail.js'
import { toCommand } from './commands/to.js'

/** The commands in the order of the help: adding one touches its own file and this list. */
export const COMMANDS: readonly Command[] = [
  listCommand, searchCommand, showCommand, headersCommand, compareCommand, tailCommand, pinCommand, unpinCommand, purgeCommand, exportCommand, importCommand,
  toCommand, replayCommand, cpuCommand, mcpCommand,
  lifecycleCommand
]
