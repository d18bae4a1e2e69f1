import type { Profile } from '../profile.js'
import { storedRequest } from '../resend/stored-request.js'
import { curl } from './curl.js'
import { fetchFormat } from './fetch.js'
import type { Format, FormatOptions, Written } from './format.js'
import { har } from './har.js'
import { httpFile } from './http-file.js'
import { nodeTest, tapTest } from './test.js'

/** What the request of a profile can be written as. */
export const FORMATS: readonly Format[] = [curl, fetchFormat, httpFile, har, tapTest, nodeTest]

/** Writes the request of a profile in one form; throws where the profile has none that could be sent. */
export function writeAs (format: Format, profile: Profile, options: FormatOptions = {}): Written {
  return { file: format.file(profile.token), type: format.type, text: format.write(storedRequest(profile), profile, options) }
}
