'use strict'

module.exports = require('./server-options.js')
