import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DEFAULT_DATA_DIR, NO_SQLITE, openStorage, STORE_FILE } from '../lib/profiler/storage/open.js'
import { findLibrary } from '../lib/profiler/storage/sqlite/database.js'
import type { ProfileStorage } from '../lib/profiler/storage/storage.js'
import { CommandError, type Flags } from './command.js'

/** Opens the store that flags or environment name, as the service does; one that nobody has begun is not made, unless it is written to. */
export async function openStore (flags: Flags, mayBegin: boolean): Promise<ProfileStorage> {
  const storage = given(flags.storage) ?? given(process.env.STORAGE_URL) ?? 'sqlite'
  const dataDir = given(flags['data-dir']) ?? given(process.env.DATA_DIR) ?? DEFAULT_DATA_DIR
  if (storage === 'memory') throw new CommandError('--storage (STORAGE_URL): the memory of another process cannot be read; use sqlite or postgres://….', 2)
  const path = join(dataDir, STORE_FILE)
  if (storage === 'sqlite' && findLibrary() === undefined) throw new CommandError(`The store cannot be opened: ${NO_SQLITE}.`)
  if (storage === 'sqlite' && !mayBegin && !existsSync(path)) {
    throw new CommandError(`There is no store at ${path}: run the command where the service was started, or name its folder with --data-dir (DATA_DIR).`)
  }
  try {
    return await openStorage({ storage, dataDir, warn: (message) => process.stderr.write(`${message}\n`) })
  } catch (error) {
    throw new CommandError(`The store cannot be opened: ${(error as Error).message}`)
  }
}

function given (value: string | boolean | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
