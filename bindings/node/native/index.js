// SPDX-License-Identifier: Apache-2.0
// The addon, and the program that supervises: both are built, beside this file

'use strict';

const path = require('node:path');

module.exports = {
  native: require('./cloche.node'),
  program: path.join(__dirname, 'cloche'),
};
