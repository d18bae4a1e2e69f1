/** Resolves to the hash of a password for a provider of users: Argon2id in the PHC string format, `$argon2id$…`. Its library is loaded with the first call. */
export async function hashPassword (password: string): Promise<string> {
  const { argon2 } = await import('./passwords.js')
  return await argon2.hash(password)
}
