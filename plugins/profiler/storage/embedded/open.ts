import { open as openEnvironment } from 'lmdb'
import type { StoreFile } from './store-file.js'

/** Opens the databases of a store. */
export function openFile (path: string): StoreFile {
  const root = openEnvironment<string, string>({ path, noSubdir: true, encoding: 'string', maxDbs: 8, maxReaders: 254 })
  const numbered = { keyEncoding: 'ordered-binary', encoding: 'binary' } as const
  return {
    root,
    tokens: root.openDB('tokens', { keyEncoding: 'uint32', encoding: 'binary' }),
    chunks: root.openDB('chunks', numbered),
    slots: root.openDB('slots', numbered),
    waiting: root.openDB('waiting', { ...numbered, encoding: 'string' }),
    zones: root.openDB('zones', numbered),
    columns: root.openDB('columns', numbered)
  }
}
