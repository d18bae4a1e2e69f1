'use strict'

module.exports = require('./storage-contract.js')
