import t from 'tap'
import { editDistance, similarName } from '../src/similar-name.js'

t.test('two neighbors that are swapped are one change', async (t) => {
  for (const [a, b, changes] of [
    ['', '', 0], ['', 'abc', 3], ['show', 'show', 0], ['shwo', 'show', 1], ['hsow', 'show', 1], ['hsw', 'show', 2], ['shwo', 'shown', 2],
    ['versoin', 'version', 1], ['kitten', 'sitting', 3], ['abcd', 'badc', 2], ['ca', 'abc', 3], ['aab', 'aba', 1], ['users', 'uesrx', 2]
  ] as const) {
    t.equal(editDistance(a, b), changes, `${a} ${b}`)
    t.equal(editDistance(b, a), changes, `${b} ${a}`)
    for (const most of [0, 1, 2, 3, 4]) t.equal(editDistance(a, b, most), changes > most ? Infinity : changes, `${a} ${b}, at most ${most}`)
  }
})

t.test('the nearest name is the one that was meant, in any case', async (t) => {
  const names = ['list', 'tail', 'show', 'to', 'cors']
  for (const [name, meant] of [
    ['shwo', 'show'], ['tial', 'tail'], ['LSIT', 'list'], ['ot', 'to'], ['cosr', 'cors'], ['head', undefined], ['', undefined]
  ] as const) t.equal(similarName(name, names), meant, name)
  t.equal(similarName('show', []), undefined)
})
