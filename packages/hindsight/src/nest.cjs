'use strict'

module.exports = require('./nest.js')
