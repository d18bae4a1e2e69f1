import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { checkStorageSetting, NO_SQLITE, openStorage, STORE_FILE } from '../store/open.js'
import { SqlStorage } from '../store/sql.js'
import { findLibrary } from '../store/sqlite/availability.js'
import { SqliteDatabase } from '../store/sqlite/database.js'
import type { ProfileStorage } from '../store/storage.js'
import { dataFolder, type Flags } from './command.js'

/** Opens the store that flags or environment name, if this process can read it. A damaged one is not replaced. */
export async function openStore (flags: Flags): Promise<ProfileStorage> {
  const storage = String(flags.storage || process.env.STORAGE_URL || 'sqlite')
  checkStorageSetting(storage)
  if (storage === 'memory') throw new Error('--storage (STORAGE_URL): the memory of another process cannot be read.')
  const warn = (message: string): void => { process.stderr.write(`${message}\n`) }
  if (storage !== 'sqlite') return await openStorage({ storage, warn })
  if (findLibrary() === undefined) throw new Error(`Profiles cannot be read: ${NO_SQLITE}.`)
  const path = join(dataFolder(flags), STORE_FILE)
  if (!existsSync(path)) {
    const advice = 'run the command in the folder where the application was started, or set --data-dir (DATA_DIR)'
    throw new Error(`There is no store at ${path}: ${advice}.`)
  }
  // A command serves no requests meanwhile: the start of a thread would take most of its time.
  return new SqlStorage(new SqliteDatabase(resolve(path), false, warn), {})
}
