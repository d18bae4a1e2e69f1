import * as theme from '../../view/theme.js'
import { panels } from '../panels/index.js'
import * as comparePage from './compare-page/component.js'
import { addressesOf, assetPair } from './hashed-asset.js'
import * as layout from './layout/component.js'
import * as profilePage from './profile-page/component.js'
import * as replayPage from './replay-page/component.js'
import * as searchPage from './search-page/component.js'

const pages = [layout, profilePage, searchPage, comparePage, replayPage]
const styles = [theme.style, ...pages.map(({ style }) => style), ...panels.map(({ style = '' }) => style)]
const scripts = [theme.script, searchPage.script, ...panels.flatMap(({ script = [] }) => script)]

/** The stylesheet and the script of all pages of the profiler. Each part of the script has a scope of its own. */
export const assets = assetPair(styles.join(''), scripts.map((script) => `{\n${script}}\n`).join(''))

/** The addresses of the assets; `base` is the path of the profiler's routes. */
export function assetAddresses (base: string): { style: string, script: string } {
  return addressesOf(assets, base)
}
