// SPDX-License-Identifier: Apache-2.0
// A private directory of the manager: settings, events, and a socket for asking
//
// Commands are started by the embedder's own shell, so the sandbox of each is
// told by files: the settings, which it watches for edits, and the file that
// its refusals go to. They lie in cloche's state directory, which no sandbox
// sees: another embedder's command may write all of /tmp.

'use strict';

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

const FILES_MAX = 512;   // Files of events that are kept open to writers
const LINE_MAX = 1 << 16;

const SOCKET_PATH_MAX = 107;   // Bytes of a socket's name, as the kernel has it

function parent() {
  const moved = process.env.XDG_STATE_HOME;
  const state = moved && path.isAbsolute(moved) ? moved : path.join(os.homedir(), '.local/state');
  const dir = path.join(state, 'cloche', 'srt');
  fs.mkdirSync(dir, { __proto__: null, recursive: true, mode: 0o700 });
  return dir;
}

// What a process that was killed could not take along
function sweep(dir) {
  for (const name of fs.readdirSync(dir)) {
    try {
      process.kill(Number.parseInt(name, 10), 0);
    } catch (error) {
      if (error.code === 'ESRCH')
        fs.rmSync(path.join(dir, name), { __proto__: null, recursive: true, force: true });
    }
  }
}

class Place {
  #files = new Map();   // name -> {read, command, take}
  #count = 0;
  #server = null;
  #watcher = null;

  constructor() {
    const dir = parent();
    sweep(dir);
    this.dir = fs.mkdtempSync(path.join(dir, `${process.pid}-`));
    this.cleanup = () => fs.rmSync(this.dir, { __proto__: null, recursive: true, force: true });
    process.on('exit', this.cleanup);
  }

  /** Write settings as a whole: who reads them never sees half of them */
  settings(name, config) {
    const file = path.join(this.dir, name);
    fs.writeFileSync(`${file}.new`, JSON.stringify(config),
      { __proto__: null, mode: 0o600 });
    fs.renameSync(`${file}.new`, file);
    return file;
  }

  /** A file for the refusals of one command; take(record) gets each once */
  events(take) {
    const file = path.join(this.dir, `events-${++this.#count}`);
    fs.writeFileSync(file, '', { __proto__: null, mode: 0o600 });
    this.#files.set(file, { at: 0, rest: '', take });
    if (this.#files.size > FILES_MAX) {
      const [oldest] = this.#files.keys();
      this.#read(oldest);
      this.#files.delete(oldest);
      fs.rmSync(oldest, { force: true });
    }
    this.#watcher ??= this.#watch();
    return file;
  }

  #watch() {
    const watcher = fs.watch(this.dir, { persistent: false }, (_, name) => {
      const file = name && path.join(this.dir, name);
      if (this.#files.has(file)) this.#read(file);
    });
    watcher.on('error', () => {});
    return watcher;
  }

  #read(file) {
    const state = this.#files.get(file);
    const text = fs.readFileSync(file).subarray(state.at);
    state.at += text.length;
    const lines = (state.rest + text).split('\n');
    state.rest = lines.pop().slice(0, LINE_MAX);
    for (const line of lines) state.take(JSON.parse(line));
  }

  /** Everything that was refused so far */
  catchUp() {
    for (const file of this.#files.keys()) this.#read(file);
  }

  /** A socket on which running commands ask; answer({host, port}) decides */
  async listen(answer) {
    this.#server = net.createServer((socket) => {
      let rest = '';
      socket.setEncoding('utf8');
      socket.unref();
      socket.on('error', () => {});
      socket.on('data', (data) => {
        const lines = (rest + data).split('\n');
        rest = lines.pop().slice(0, LINE_MAX);
        for (const line of lines) this.#asked(socket, line, answer);
      });
    });
    this.#server.unref();
    const file = path.join(this.dir, 'ask');
    if (Buffer.byteLength(file) > SOCKET_PATH_MAX)
      throw new Error(`${file} is too long for a socket; set XDG_STATE_HOME to a shorter path`);
    await new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(file, resolve);
    });
    fs.chmodSync(file, 0o600);
    return file;
  }

  async #asked(socket, line, answer) {
    const { ask } = JSON.parse(line);
    if (!ask) return;
    let allow = false;
    try {
      allow = await answer({ host: ask.host, port: ask.port }) === true;
    } catch { /* A question that failed is a no */ }
    socket.write(JSON.stringify({ answer: { id: ask.id, allow, scope: 'session' } }) + '\n');
  }

  remove() {
    this.#watcher?.close();
    this.#server?.close();
    this.#files.clear();
    process.removeListener('exit', this.cleanup);
    this.cleanup();
  }
}

module.exports = { Place };
