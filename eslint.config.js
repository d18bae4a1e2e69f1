import neostandard from 'neostandard'

export default [
  ...neostandard({
    ts: true,
    ignores: ['node_modules', '.tap', 'dist', 'dist-docs', 'coverage']
  }),
  ...neostandard({
    files: ['lib/**/script.js'],
    env: ['browser']
  }),
  {
    // The compiler knows which names exist, types among them; this rule knows no types.
    files: ['**/*.ts'],
    rules: { 'no-undef': 'off' }
  },
  {
    files: ['{app,bin,cli,lib,plugins,routes}/**/*.{js,cjs,ts}'],
    rules: { '@stylistic/max-len': ['error', { code: 120 }] }
  },
  {
    files: ['test/**/*.{js,cjs,ts}'],
    rules: { '@stylistic/max-len': ['error', { code: 160 }] }
  },
  {
    // Control characters are what this project finds and makes visible; in its expressions they are meant.
    rules: { 'no-control-regex': 'off' }
  }
]
