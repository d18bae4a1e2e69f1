import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A key and a certificate of `localhost` and 127.0.0.1, made anew; null where there is no openssl, which CI must have. */
export function certificate (): { key: string, cert: string } | null {
  const folder = mkdtempSync(join(tmpdir(), 'hindsight-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  try {
    execFileSync('openssl', [
      'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
      '-keyout', key, '-out', cert, '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'
    ], { stdio: 'pipe' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } catch (error) {
    if (process.env.CI || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return null
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
