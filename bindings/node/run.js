// SPDX-License-Identifier: Apache-2.0
// One command in the sandbox: streams, events, and how it ended

'use strict';

const { EventEmitter } = require('node:events');
const net = require('node:net');
const os = require('node:os');
const { native } = require('./native');

const OUTPUT_MAX = 64 << 20;   // Bytes kept of each captured stream

/** What cloche refused to do; errno is the negative number of the system */
class ClocheError extends Error {
  constructor(message, errno) {
    super(message);
    this.name = 'ClocheError';
    this.errno = errno;
    this.code = Object.entries(os.constants.errno)
      .find(([, number]) => number === -errno)?.[0];
  }
}

// What the library says, with its number, is one of ours
function called(fn) {
  try {
    return fn();
  } catch (error) {
    throw error.errno ? new ClocheError(error.message, error.errno) : error;
  }
}

// The other end of a stream is the command's, and closed here at once
class Streams {
  fds = [];
  ours = [null, null, null];
  #theirs = [];

  constructor(stdio) {
    for (let i = 0; i < 3; i++) this.fds[i] = this.#open(stdio[i], i);
  }

  #open(what, i) {
    if (what === 'inherit') return i;
    if (what === 'ignore' || what == null) return -1;
    if (Number.isInteger(what)) return what;
    if (what !== 'pipe') throw new TypeError(`stdio: ${what} is not 'pipe', 'inherit', 'ignore' or a descriptor`);
    const [read, write] = native.pipe();
    const [mine, theirs] = i === 0 ? [write, read] : [read, write];
    this.#theirs.push(theirs);
    this.ours[i] = new net.Socket({ fd: mine, readable: i > 0, writable: i === 0 });
    return theirs;
  }

  given() {
    for (const fd of this.#theirs) native.close(fd);
    this.#theirs = [];
  }

  destroy() {
    this.given();
    for (const stream of this.ours) stream?.destroy();
  }
}

function collect(stream, messages, name) {
  if (!stream) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve) => {
    const parts = [];
    let size = 0;
    stream.on('data', (part) => {
      if (size < OUTPUT_MAX) parts.push(part.subarray(0, OUTPUT_MAX - size));
      size += part.length;
    });
    stream.on('error', () => {});
    stream.on('close', () => {
      if (size > OUTPUT_MAX)
        messages.push(`${name}: the first ${OUTPUT_MAX} of ${size} bytes were kept`);
      resolve(Buffer.concat(parts));
    });
  });
}

/** A host that no rule mentions; allow() or deny() it, within a minute */
class Question {
  #answer;

  constructor(host, port, program, answer) {
    this.host = host;
    this.port = port;
    this.program = program;
    this.#answer = answer;
  }

  allow({ remember = true } = {}) { this.#answer(true, remember); }
  deny({ remember = true } = {}) { this.#answer(false, remember); }
}

class Run extends EventEmitter {
  #handle;
  #updates = new Map();

  constructor(box, argv, given, asks) {
    super();
    const options = { __proto__: null, ...given };   // What it inherits was not given
    const { cwd = null, env = null, input, signal, capture = false } = options;
    signal?.throwIfAborted();
    if (input != null && typeof input !== 'string' && !ArrayBuffer.isView(input))
      throw new TypeError('input is neither a string nor bytes');
    const stdio = options.stdio ?? (capture
      ? [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe']
      : ['pipe', 'pipe', 'pipe']);
    const streams = new Streams(stdio);
    [this.stdin, this.stdout, this.stderr] = streams.ours;
    this.violations = [];
    this.messages = [];
    this.result = this.#start(box, {
      argv, directory: cwd, stdio: streams.fds,
      env: env && Object.entries(env).filter(([, value]) => value !== undefined)
        .map(([name, value]) => `${name}=${value}`),
    }, streams, capture, asks);
    this.result.catch(() => {});   // It may be looked at later, or never
    if (input !== undefined && this.stdin) {
      this.stdin.on('error', () => {});
      this.stdin.end(input);
    }
    const abort = () => this.kill('SIGKILL');
    signal?.addEventListener('abort', abort, { once: true });
    this.once('ended', () => signal?.removeEventListener('abort', abort));
  }

  #start(box, command, streams, capture, asks) {
    const output = capture && [
      collect(this.stdout, this.messages, 'standard output'),
      collect(this.stderr, this.messages, 'standard error'),
    ];
    const ended = new Promise((resolve, reject) => {
      const events = {
        started: () => this.emit('started'),
        violation: (json) => this.#violation(JSON.parse(json)),
        ask: (id, host, port, program) => this.#ask(id, host, port, program),
        updated: (id, error, why) => this.#updated(id, error, why),
        message: (line) => { this.messages.push(line); this.emit('message', line); },
        report: (text) => this.emit('report', text),
        ended: (status, error, sandboxed, why) => {
          this.#ended();
          if (error) reject(new ClocheError(why, error));
          else resolve({ status, sandboxed: sandboxed === 1 });
        },
      };
      try {
        this.#handle = called(() => native.start(box, command, events, asks));
      } catch (error) {
        streams.destroy();
        throw error;
      }
      streams.given();
    });
    return this.#finish(ended, output);
  }

  async #finish(ended, output) {
    try {
      const how = await ended;
      const [stdout, stderr] = output ? await Promise.all(output) : [];
      return { ...how, signal: how.status > 128 ? signalName(how.status - 128) : null,
               stdout: stdout?.toString(), stderr: stderr?.toString(),
               violations: this.violations, messages: this.messages };
    } finally {
      this.emit('closed');
    }
  }

  // The same refusal may come again with a larger count
  #violation(record) {
    const same = this.violations.findIndex((v) =>
      v.kind === record.kind && v.target === record.target && v.op === record.op);
    if (same >= 0) this.violations[same] = record;
    else this.violations.push(record);
    if (same < 0) this.emit('violation', record);
  }

  #ask(id, host, port, program) {
    let answered = false;
    const question = new Question(host, port, program, (allow, remember) => {
      if (answered || !this.#handle) return;
      answered = true;
      try {
        called(() => native.answer(this.#handle, id, allow, remember));
      } catch (error) {
        if (error.code !== 'ESRCH') throw error;   // Nobody asks any more
      }
    });
    if (!this.emit('ask', question)) question.deny();
  }

  #updated(id, error, why) {
    const waiting = this.#updates.get(id);
    this.#updates.delete(id);
    if (error) waiting?.reject(new ClocheError(why, error));
    else waiting?.resolve();
  }

  // What ends while a policy is on its way had no use for it
  #ended() {
    this.#handle = null;
    for (const { resolve } of this.#updates.values()) resolve();
    this.#updates.clear();
    this.emit('ended');
  }

  /** From now on this policy decides about the command */
  update(policy) {
    if (!this.#handle) return Promise.resolve();
    const text = typeof policy === 'string' ? policy : JSON.stringify(policy);
    return new Promise((resolve, reject) => {
      try {
        const id = called(() => native.update(this.#handle, text));
        this.#updates.set(id, { resolve, reject });
      } catch (error) {
        // Its end was not heard yet
        if (error.code === 'ESRCH') resolve();
        else throw error;
      }
    });
  }

  /** Send a signal to the command; false if it has ended */
  kill(signal = 'SIGTERM') {
    const number = typeof signal === 'number' ? signal : os.constants.signals[signal];
    if (!number) throw new TypeError(`unknown signal: ${signal}`);
    if (!this.#handle) return false;
    try {
      native.signal(this.#handle, number);
      return true;
    } catch {
      return false;
    }
  }
}

function signalName(number) {
  return Object.entries(os.constants.signals)
    .find(([, value]) => value === number)?.[0] ?? null;
}

module.exports = { Run, ClocheError, called };
