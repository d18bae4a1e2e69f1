import { fields } from '../view/components.js'
import type { Data } from './data.js'
import type { GROUPS, Part } from './part.js'

/** A part whose panel is a table of its fields; `title` is that of the table. */
export function fieldsPart (
  name: string, label: string, group: keyof typeof GROUPS, title: string, others: Omit<Part<Data>, 'name'> = {}
): Part<Data> {
  return { name, ...others, panel: { label, group, render: (data) => fields(title, data), ...others.panel } }
}
