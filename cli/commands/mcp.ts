import { CommandError, type Command } from '../command.js'

const NEEDED = '@modelcontextprotocol/server'

/** Lets models read the store, by the Model Context Protocol over standard input and output. */
export const mcpCommand: Command = {
  name: 'mcp',
  args: '',
  what: 'serve the store to models (Model Context Protocol, stdio)',
  arity: [0, 0],
  async run ({ flags, open, signal }) {
    if (flags.json === true) throw new CommandError('mcp speaks its own protocol: --json does not go with it.', 2)
    const { serve } = await loaded()
    await serve(open, signal)
  }
}

// Nobody else needs the SDK: it is an optional peer dependency, loaded by this command alone.
async function loaded (): Promise<typeof import('../mcp/server.js')> {
  try {
    return await import('../mcp/server.js')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes(NEEDED)) throw error
    throw new CommandError(`mcp needs the package ${NEEDED}, which is not installed: npm install --save-dev ${NEEDED}`)
  }
}
