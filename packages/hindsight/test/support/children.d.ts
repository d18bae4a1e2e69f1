/** Lets the thread that reads variables start in this process. */
export function allowValues (): void
