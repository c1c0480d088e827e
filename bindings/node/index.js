// SPDX-License-Identifier: Apache-2.0
// cloche - run commands in a sandbox that the Linux kernel enforces

'use strict';

const { EventEmitter } = require('node:events');
const { native, failure, program } = require('./native');
const { Run, ClocheError, called } = require('./run');
const settings = require('./settings');

const text = (policy) => policy == null ? null
  : typeof policy === 'string' ? policy : JSON.stringify(policy);

// Anything else would become some text, too: what was to be denied would be
// called "[object Set]"
function value(name, one) {
  if (typeof one === 'string' || typeof one === 'number') return String(one);
  throw new TypeError(
    `${name}: ${one} is neither a string nor a number; several go into an array`);
}

// {write: ['/a', '/b'], ask: true, timeout: '5s'} as [[name, value]...]
function pairs(options) {
  const found = [];
  for (const [name, given] of Object.entries(options ?? {})) {
    const dashed = name.replace(/[A-Z]/g, (c) => '-' + c.toLowerCase());
    if (given === true) found.push([dashed, null]);
    else if (Array.isArray(given))
      for (const one of given) found.push([dashed, value(name, one)]);
    else if (given !== false && given != null)
      found.push([dashed, value(name, given)]);
  }
  return found;
}

const more = Symbol('options, as pairs');

/**
 * A policy, and the commands that run under it.
 *
 * Events: 'violation' (record, run), 'ask' (question, run), 'message' (line,
 * run). A host that no rule mentions is refused unless there is a listener for
 * 'ask' when the command starts, and allows it.
 */
class Sandbox extends EventEmitter {
  #policy;
  #options;
  #program;
  #runs = new Set();

  constructor(policy = null, options = {}) {
    super();
    const { program: given, ...rest } = { __proto__: null, ...options };
    this.#policy = text(policy);
    this.#options = [...(rest[more] ?? []), ...pairs(rest)];
    this.#program = given ?? program;
    this.wrap(['true']);   // Wrong options are reported at once
  }

  #box(extra = []) {
    return { program: this.#program, policy: this.#policy,
             options: [...this.#options, ...extra] };
  }

  // An array is a command and its arguments, a string is for the shell
  #words(command) {
    if (Array.isArray(command)) return [command, this.#box()];
    if (typeof command !== 'string')
      throw new TypeError('the command is neither a string nor an array');
    return [[], this.#box([['command', command]])];
  }

  /** Start a command; the Run has its streams, events and result */
  start(command, options = {}) {
    const [argv, box] = this.#words(command);
    const run = new Run(box, argv, options, this.listenerCount('ask') > 0);
    this.#runs.add(run);
    run.on('violation', (v) => this.emit('violation', v, run));
    run.on('message', (line) => this.emit('message', line, run));
    run.on('ask', (question) => this.emit('ask', question, run));
    run.once('ended', () => this.#runs.delete(run));
    return run;
  }

  /** Run a command to its end: {status, stdout, stderr, violations, ...} */
  async run(command, options = {}) {
    return this.start(command, { capture: true, ...options }).result;
  }

  /** A line for a shell that runs the command in the sandbox, by itself */
  wrap(command) {
    const [argv, box] = this.#words(command);
    return called(() => native.wrap(box, argv));
  }

  /** A sandbox with this policy, as it is now, that commands share: see Session */
  session(name) {
    return new Session(this.#policy, this.#options, this.#program, name);
  }

  /**
   * From now on this policy decides, also for the commands that run. Rejects,
   * and changes nothing, if it has a mistake; the runs are asked first, and so
   * are those that start meanwhile.
   */
  async update(policy) {
    const next = text(policy);
    const asked = new Set();
    for (;;) {
      const rest = this.running.filter((run) => !asked.has(run));
      if (rest.length === 0) break;
      for (const run of rest) asked.add(run);
      await Promise.all(rest.map((run) => run.update(next)));
    }
    this.#policy = next;
  }

  /** The commands that run now */
  get running() { return [...this.#runs]; }

  /** End whatever runs, and wait for that */
  async close() {
    const running = this.running;
    for (const run of running) run.kill('SIGKILL');
    await Promise.allSettled(running.map((run) => run.result));
  }

  async [Symbol.asyncDispose ?? Symbol.for('asyncDispose')]() {
    await this.close();
  }
}

/**
 * A living sandbox: a server that one command leaves in the background answers the next.
 * It ends by stop(), with this process, or when idle (cloche-session(1)). Refusals of a
 * command are events and in its result; those of what it left in the background are in
 * getViolations(). Hosts are not asked about.
 */
class Session extends Sandbox {
  #name;

  constructor(policy, options, given, name) {
    super(policy, { program: given, session: name, sessionOwner: process.pid, [more]: options });
    this.#name = String(name);
  }

  get name() { return this.#name; }

  /** End everything in it; nothing if it does not live */
  async stop() {
    await this.close();
    const { sessions } = JSON.parse(settings.ask(['session', 'list', '--json']));
    if (sessions.some((one) => one.name === this.#name))
      settings.ask(['session', 'stop', this.#name]);
  }

  /** Make a port of a server in it reachable on the host's localhost */
  publish(port) { settings.ask(['session', 'publish', this.#name, String(port)]); }
}

const { ask, ...verbs } = settings;
module.exports = { Sandbox, Session, Run, ClocheError, ...verbs,
  version: failure ? undefined : native.version };
