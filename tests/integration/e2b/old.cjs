// SPDX-License-Identifier: Apache-2.0
// node --require: the scripts get the generation of the client before (test_e2b.py), the code interpreter's package too.
const Module = require('node:module')

const { _resolveFilename: resolve } = Module
Module._resolveFilename = function (request, ...rest) {
  return resolve.call(this, request === 'e2b' ? 'e2b-2-45' : request, ...rest)
}
