// SPDX-License-Identifier: Apache-2.0
// examples/run.js - run a sandboxed command, receive refusals, change its policy
//
//	npm install ./cloche-0.1.0.tgz && node run.js
//
// Does the same as run.c: a write that no rule allows, a host that no rule mentions;
// the program then allows the write while the command runs.

'use strict';

const { Sandbox } = require('cloche');

const dir = process.argv[2] ?? process.env.HOME;
const host = process.argv[3] ?? 'example.com';
const script = `
try() { (echo hi >"$1/file") 2>/dev/null && echo wrote || echo refused; }
get() { curl -s -o /dev/null -x http://127.0.0.1:3128 "http://$1/"; }
try "$1"
get "$2"
i=0; while [ $i -lt 200 ]; do
	[ "$(try "$1")" = wrote ] && { echo wrote; exit 0; }
	sleep 0.05; i=$((i + 1))
done; exit 1`;

async function main() {
  const box = new Sandbox({ filesystem: { allowWrite: [] } });

  box.on('violation', (v) => console.error(`refused: ${v.kind} ${v.target} (${v.reason})`));
  box.on('ask', async (question) => {
    console.error(`asked: ${question.host}:${question.port}`);
    await box.update({ filesystem: { allowWrite: [dir] } });
    console.error('update 1: in force');
    question.deny();
  });

  const { status, stdout } = await box.run(['sh', '-c', script, 'sh', dir, host]);
  process.stdout.write(stdout);
  process.exitCode = status;
}

main();
