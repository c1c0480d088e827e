// SPDX-License-Identifier: Apache-2.0
// The addon, and the program that supervises: both are built, beside this file
//
// The package can be installed and loaded everywhere, so that a program that runs on
// other systems too need not load it behind a condition. Where the addon does not
// load, the first use of it throws.

'use strict';

const path = require('node:path');

let native, failure = null;
try {
  if (process.platform !== 'linux') throw new Error(`cloche needs Linux, this is ${process.platform}`);
  native = require('./cloche.node');
} catch (error) {
  failure = error;
  native = new Proxy({}, { get() { throw failure; } });
}

module.exports = { native, failure, program: path.join(__dirname, 'cloche') };
