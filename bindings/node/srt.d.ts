// SPDX-License-Identifier: Apache-2.0
import { Violation } from './index';

export interface SandboxRuntimeConfig {
  network: { allowedDomains: string[]; deniedDomains: string[]; [key: string]: unknown };
  filesystem: { denyRead: unknown[]; allowRead?: unknown[]; allowWrite: unknown[];
                denyWrite: unknown[]; [key: string]: unknown };
  ignoreViolations?: Record<string, string[]>;
  [key: string]: unknown;
}

export interface SandboxViolationEvent {
  line: string;
  command?: string;
  encodedCommand?: string;
  timestamp: Date;
  record: Violation;
}

export type SandboxAskCallback = (question: { host: string; port: number }) => Promise<boolean> | boolean;

export class SandboxViolationStore {
  addViolation(violation: SandboxViolationEvent): void;
  getViolations(limit?: number): SandboxViolationEvent[];
  getCount(): number;
  getTotalCount(): number;
  getViolationsForCommand(command: string): SandboxViolationEvent[];
  clear(): void;
  subscribe(listener: (violations: SandboxViolationEvent[]) => void): () => void;
}

export class SandboxInitializeConflictError extends Error {
  readonly code: 'initialize_conflict';
}

type Partially = { [K in keyof SandboxRuntimeConfig]?: Partial<SandboxRuntimeConfig[K]> };
type Ids = { commandId?: string; commandText?: string };

export const SandboxManager: {
  initialize(config: SandboxRuntimeConfig, askCallback?: SandboxAskCallback, enableLogMonitor?: boolean): Promise<void>;
  isSupportedPlatform(): boolean;
  isSandboxingEnabled(): boolean;
  checkDependencies(): { errors: string[]; warnings: string[] };
  checkDependenciesAsync(): Promise<{ errors: string[]; warnings: string[] }>;
  wrapWithSandbox(command: string, binShell?: string, customConfig?: Partially, abortSignal?: AbortSignal, ids?: Ids): Promise<string>;
  wrapWithSandboxArgv(command: string, binShell?: string, customConfig?: Partially, abortSignal?: AbortSignal, cwd?: string, ids?: Ids): Promise<{ argv: string[]; env: NodeJS.ProcessEnv }>;
  updateConfig(config: SandboxRuntimeConfig): void;
  reset(): Promise<void>;
  registerCommandNetworkLists(commandId: string, lists: { allowedDomains: string[] }): void;
  unregisterCommandNetworkLists(commandId: string): void;
  cleanupAfterCommand(): void;
  addToExcludedCommands(command: string): void;
  removeSandboxViolationTags(text: string): string;
  waitForNetworkInitialization(): Promise<boolean>;
  getSandboxViolationStore(): SandboxViolationStore;
  annotateStderrWithSandboxFailures(command: string, stderr: string): string;
  getConfig(): SandboxRuntimeConfig | undefined;
  getFsReadConfig(): { denyOnly: unknown[]; allowWithinDeny: unknown[] };
  getFsWriteConfig(): { allowOnly: unknown[]; denyWithinAllow: unknown[] };
  getNetworkRestrictionConfig(): { allowedHosts: string[]; deniedHosts: string[] };
  [other: string]: unknown;
};

export class LinuxSandboxProfileError extends Error {
  readonly code: string;
}

export const SandboxRuntimeConfigSchema: {
  parse(value: unknown): SandboxRuntimeConfig;
  safeParse(value: unknown): { success: true; data: SandboxRuntimeConfig } | { success: false; error: Error };
};

export function getDefaultWritePaths(): string[];
export { convertToSandboxRuntimeConfig, removeSandboxViolationTags } from './index';
