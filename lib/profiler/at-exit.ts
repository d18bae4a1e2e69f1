type Callback = (code: number) => void

const callbacks = new Set<Callback>()

/** Calls back when the process exits, where only synchronous work can be done; returns what takes the callback back. All applications share one listener. */
export function atExit (callback: Callback): () => void {
  if (callbacks.size === 0) process.prependListener('exit', onExit)
  callbacks.add(callback)
  return () => {
    callbacks.delete(callback)
    if (callbacks.size === 0) process.off('exit', onExit)
  }
}

function onExit (code: number): void {
  // The last one first, as it may rely on those before it; one that throws must not keep the others from their work.
  for (const callback of [...callbacks].reverse()) {
    try {
      callback(code)
    } catch {
      // The process exits: the error can no longer be handled.
    }
  }
}
