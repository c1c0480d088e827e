// SPDX-License-Identifier: Apache-2.0
// What was refused, in the shape that users of sandbox-runtime know

'use strict';

const KEPT = 100;   // The newest ones
const KEY_MAX = 100;   // Characters of a command that tell it from others

const keyOf = (command) =>
  Buffer.from(String(command).slice(0, KEY_MAX)).toString('base64');

/** The last refusals, with the command that each belongs to */
class SandboxViolationStore {
  #kept = [];
  #total = 0;
  #listeners = new Set();

  addViolation(violation) {
    this.#kept.push(violation);
    if (this.#kept.length > KEPT) this.#kept.shift();
    this.#total++;
    for (const listener of this.#listeners) listener(this.getViolations());
  }

  getViolations(limit) {
    return limit === undefined ? [...this.#kept] : this.#kept.slice(-limit);
  }

  getCount() { return this.#kept.length; }
  getTotalCount() { return this.#total; }

  getViolationsForCommand(command) {
    const key = keyOf(command);
    return this.#kept.filter((v) => v.encodedCommand === key);
  }

  clear() {
    this.#kept = [];
    for (const listener of this.#listeners) listener([]);
  }

  subscribe(listener) {
    this.#listeners.add(listener);
    listener(this.getViolations());
    return () => this.#listeners.delete(listener);
  }
}

// A record of `cloche run --events` as an entry of the store
function toViolation(record, command) {
  const why = record.reason ? ` (${record.reason})` : '';
  return {
    line: `deny ${record.kind} ${record.target ?? ''}${why}`.replace(/[\r\n]/g, ' '),
    command,
    encodedCommand: keyOf(command),
    timestamp: new Date(record.time),
    record,
  };
}

module.exports = { SandboxViolationStore, toViolation };
