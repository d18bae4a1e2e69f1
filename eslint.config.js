import js from '@eslint/js'
import stylistic from '@stylistic/eslint-plugin'
import node from 'eslint-plugin-n'
import promise from 'eslint-plugin-promise'
import globals from 'globals'
import ts from 'typescript-eslint'

/** The style of Standard: two spaces, single quotes, no semicolons, a space before parentheses of functions. */
const style = stylistic.configs.customize({ jsx: false, braceStyle: '1tbs', commaDangle: 'never' })

export default [
  { ignores: ['**/node_modules', '.tap', '**/dist', 'dist-docs', 'coverage'] },
  js.configs.recommended,
  style,
  {
    files: ['**/*.{js,cjs,mjs,ts,cts}'],
    languageOptions: { globals: { ...globals.node } },
    plugins: { n: node, promise },
    rules: {
      '@stylistic/arrow-parens': 'off',
      '@stylistic/brace-style': ['error', '1tbs', { allowSingleLine: true }],
      '@stylistic/generator-star-spacing': ['error', 'both'],
      '@stylistic/indent-binary-ops': 'off',
      '@stylistic/max-statements-per-line': 'off',
      '@stylistic/no-extra-parens': ['error', 'functions'],
      '@stylistic/object-curly-newline': ['error', { multiline: true, consistent: true }],
      '@stylistic/object-property-newline': ['error', { allowMultiplePropertiesPerLine: true }],
      '@stylistic/operator-linebreak': ['error', 'after', { overrides: { '?': 'before', ':': 'before' } }],
      '@stylistic/quote-props': ['error', 'as-needed'],
      '@stylistic/quotes': ['error', 'single', { avoidEscape: true, allowTemplateLiterals: false }],
      '@stylistic/space-before-function-paren': ['error', 'always'],
      '@stylistic/type-generic-spacing': 'off',
      '@stylistic/yield-star-spacing': ['error', 'both'],
      'array-callback-return': 'error',
      camelcase: ['error', { properties: 'never', ignoreGlobals: true }],
      curly: ['error', 'multi-line'],
      'default-case-last': 'error',
      'dot-notation': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'new-cap': ['error', { capIsNew: false }],
      'no-empty': ['error', { allowEmptyCatch: true }],
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-lone-blocks': 'error',
      'no-multi-str': 'error',
      'no-new-func': 'error',
      'no-return-assign': ['error', 'except-parens'],
      'no-self-compare': 'error',
      'no-sequences': 'error',
      'no-template-curly-in-string': 'error',
      'no-throw-literal': 'error',
      'no-unmodified-loop-condition': 'error',
      'no-unused-vars': ['error', { args: 'none', caughtErrors: 'none', ignoreRestSiblings: true }],
      'no-unneeded-ternary': ['error', { defaultAssignment: false }],
      'no-unused-expressions': ['error', { allowShortCircuit: true, allowTernary: true, allowTaggedTemplates: true }],
      'no-useless-call': 'error',
      'no-useless-computed-key': 'error',
      'no-useless-constructor': 'error',
      'no-useless-rename': 'error',
      'no-useless-return': 'error',
      'no-var': 'error',
      'object-shorthand': ['error', 'properties'],
      'one-var': ['error', { initialized: 'never' }],
      'prefer-const': ['error', { destructuring: 'all' }],
      'prefer-promise-reject-errors': 'error',
      'symbol-description': 'error',
      yoda: ['error', 'never'],
      'n/no-deprecated-api': 'error',
      'n/no-exports-assign': 'error',
      'n/no-new-require': 'error',
      'n/no-path-concat': 'error',
      'promise/param-names': 'error'
    }
  },
  {
    files: ['**/*.{ts,cts}'],
    languageOptions: { parser: ts.parser },
    plugins: { '@typescript-eslint': ts.plugin },
    rules: {
      // The compiler knows which names exist, types among them; these rules know no types.
      'no-undef': 'off',
      'no-redeclare': 'off',
      'no-dupe-class-members': 'off',
      'no-unused-vars': 'off',
      'no-use-before-define': 'off',
      'no-useless-constructor': 'off',
      '@typescript-eslint/no-unused-vars': [
        'error', { args: 'none', caughtErrors: 'none', ignoreRestSiblings: true, varsIgnorePattern: '^_' }
      ],
      '@typescript-eslint/no-useless-constructor': 'error'
    }
  },
  {
    files: ['packages/hindsight/src/**/{script,page,copy-button}.js'],
    languageOptions: { globals: { ...globals.browser } }
  },
  {
    files: ['{app,lib,plugins,routes}/**/*.{js,cjs,ts}', 'packages/hindsight/{bin,packaging,src}/**/*.{js,cjs,ts}'],
    rules: { '@stylistic/max-len': ['error', { code: 120 }], 'no-nested-ternary': 'error' }
  },
  {
    files: ['{test,packages/hindsight/test}/**/*.{js,cjs,ts}'],
    rules: { '@stylistic/max-len': ['error', { code: 160 }] }
  },
  {
    // Control characters are what this project finds and makes visible; in its expressions they are meant.
    rules: { 'no-control-regex': 'off' }
  }
]
