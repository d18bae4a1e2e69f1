/** A text with stacks, without the frames of Node.js: they say whether timers ended in one turn, which differs from run to run. */
export function withoutInternalFrames (text: string): string {
  return text.replaceAll(/\n +at [^\n]*node:internal\/[^\n]*/g, '')
}
