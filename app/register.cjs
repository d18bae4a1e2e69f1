'use strict'

require('./register.js')
