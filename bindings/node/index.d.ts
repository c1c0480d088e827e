// SPDX-License-Identifier: Apache-2.0
/// <reference types="node" />
import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';

/** As `cloche run --events` writes it */
export interface Violation {
  v: 1;
  time: string;
  run: string;
  command: string | null;
  pid: number | null;
  exe: string | null;
  kind: string;
  op: string | null;
  target: string | null;
  errno: string | null;
  reason: string | null;
  rule: { file: string | null; path: string | null } | null;
  suggest: { edit: string | null; command: string | null } | null;
  count: number;
}

export interface Question {
  readonly host: string;
  readonly port: number;
  readonly program: string;
  allow(options?: { remember?: boolean }): void;
  deny(options?: { remember?: boolean }): void;
}

export type Policy = string | Record<string, unknown>;
export type Command = string | readonly string[];
export type Stdio = 'pipe' | 'inherit' | 'ignore' | number;

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string | undefined>;
  input?: string | Uint8Array;
  signal?: AbortSignal;
  stdio?: readonly [Stdio, Stdio, Stdio];
}

export interface Result {
  status: number;
  signal: NodeJS.Signals | null;
  sandboxed: boolean;
  stdout?: string;
  stderr?: string;
  violations: Violation[];
  messages: string[];
}

export class ClocheError extends Error {
  readonly errno: number;
  readonly code?: string;
}

export class Run extends EventEmitter {
  private constructor();
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  readonly result: Promise<Result>;
  readonly violations: Violation[];
  readonly messages: string[];
  update(policy: Policy): Promise<void>;
  kill(signal?: NodeJS.Signals | number): boolean;
}

export class Sandbox extends EventEmitter {
  constructor(policy?: Policy | null, options?: { program?: string } &
    Record<string, string | number | boolean | readonly string[] | undefined>);
  start(command: Command, options?: RunOptions): Run;
  run(command: Command, options?: RunOptions): Promise<Result>;
  wrap(command: Command): string;
  session(name: string): Session;
  update(policy: Policy): Promise<void>;
  close(): Promise<void>;
  readonly running: Run[];
  on(event: 'violation', listener: (violation: Violation, run: Run) => void): this;
  on(event: 'ask', listener: (question: Question, run: Run) => void): this;
  on(event: 'message', listener: (line: string, run: Run) => void): this;
}

/** Commands that share a living sandbox; it ends by stop() or with this process */
export class Session extends Sandbox {
  private constructor();
  readonly name: string;
  stop(): Promise<void>;
  publish(port: number): void;
}

/** False where the package only loads: another system, the first WSL, another processor */
export function isSupportedPlatform(): boolean;

export type Mode = 'disabled' | 'regular' | 'auto-allow';
export interface Where { cwd?: string; scope?: 'user' | 'project' | 'claude' }
export function getMode(where?: Where): Mode;
export function setMode(mode: Mode, where?: Where): void;
export function getExcludedCommands(where?: Where): string[];
export function addToExcludedCommands(pattern: string, where?: Where): void;
export function getViolations(query?: { run?: string; since?: string; kind?: string }): Violation[];
export function removeSandboxViolationTags(text: string): string;
export const secrets: {
  list(): string[];
  set(name: string, value: string): void;
  delete(name: string): void;
};
export function convertToSandboxRuntimeConfig(settings: Record<string, unknown>,
  options?: { cwd?: string; root?: string }): {
  network: { allowedDomains: string[]; deniedDomains: string[]; [key: string]: unknown };
  filesystem: { denyRead: string[]; allowRead: string[]; allowWrite: string[]; denyWrite: string[] };
  [key: string]: unknown;
};

export const version: string | undefined;
