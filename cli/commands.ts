import type { Command } from './command.js'
import { compareCommand } from './commands/compare.js'
import { cpuCommand } from './commands/cpu.js'
import { headersCommand } from './commands/headers.js'
import { lifecycleCommand } from './commands/lifecycle.js'
import { listCommand, searchCommand, tailCommand } from './commands/list.js'
import { pinCommand, purgeCommand, showCommand, unpinCommand } from './commands/profiles.js'
import { replayCommand, toCommand } from './commands/replay.js'
import { exportCommand, importCommand } from './commands/transfer.js'
import { mcpCommand } from './commands/mcp.js'

/** The commands in the order of the help. */
export const COMMANDS: readonly Command[] = [
  listCommand, searchCommand, showCommand, headersCommand, compareCommand, tailCommand, pinCommand, unpinCommand,
  purgeCommand, exportCommand, importCommand, toCommand, replayCommand, cpuCommand, mcpCommand, lifecycleCommand
]
