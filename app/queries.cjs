'use strict'

module.exports = require('./queries.js')
