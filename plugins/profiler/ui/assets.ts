import { createHash } from 'node:crypto'
import * as themeSwitch from '../../view/theme-switch/theme-switch.js'
import { tokens } from '../../view/tokens.js'
import { panels } from '../panels/index.js'
import * as comparePage from './compare-page/component.js'
import * as layout from './layout/component.js'
import * as profilePage from './profile-page/component.js'
import * as replayPage from './replay-page/component.js'
import * as searchPage from './search-page/component.js'

/** What all pages of the profiler share: served once, under a name that changes with it. */
export interface SharedAsset {
  /** The last part of its address. */
  name: string
  type: string
  content: string
}

const styles = [tokens, themeSwitch.style, layout.style, profilePage.style, searchPage.style, comparePage.style, replayPage.style, ...panels.map(({ style = '' }) => style)]
const scripts = [themeSwitch.script, searchPage.script, ...panels.flatMap(({ script = [] }) => script)]

/** The style and the script of all pages, each in one file. */
export const assets: Readonly<Record<'style' | 'script', SharedAsset>> = {
  style: shared('css', 'text/css; charset=utf-8', styles.join('')),
  // Each part keeps its names to itself.
  script: shared('js', 'text/javascript; charset=utf-8', scripts.map((script) => `{\n${script}}\n`).join(''))
}

/** Where pages find them, below the path that the profiler's routes begin with. */
export function assetAddresses (base: string): { style: string, script: string } {
  return { style: `${base}/assets/${assets.style.name}`, script: `${base}/assets/${assets.script.name}` }
}

function shared (extension: string, type: string, content: string): SharedAsset {
  return { name: `${createHash('sha256').update(content).digest('hex').slice(0, 16)}.${extension}`, type, content }
}
