'use strict'

module.exports = require('./storage.js')
