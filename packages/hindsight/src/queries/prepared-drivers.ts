/** The names and versions of the drivers whose clients the preload observes. */
export const preparedDrivers: string[] = []
