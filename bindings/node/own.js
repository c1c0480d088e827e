// SPDX-License-Identifier: Apache-2.0
// Options as they were written: nothing from Object.prototype

'use strict';

/** A copy that has its own properties only, and so have the objects in it */
function own(value) {
  if (Array.isArray(value)) return value.map(own);
  if (value === null || typeof value !== 'object') return value;
  const copy = { __proto__: null };
  for (const [name, one] of Object.entries(value)) copy[name] = own(one);
  return copy;
}

module.exports = { own };
