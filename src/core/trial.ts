/**
 * How `franca doctor` tries an agent without its owner's settings, logins or network: a scripted model on loopback, a
 * home of its own, and one task, to add a line to a file.
 */
import type { PermissionMode } from "../protocol/events.ts";

export interface Trial {
  /** The wire format that the scripted model speaks. */
  readonly model: "anthropic" | "gemini" | "openai";
  /** What the model calls to do the task, one tool a model step. */
  readonly calls: (task: TrialTask) => readonly TrialCall[];
  /** What the agent asks the model beside the conversation. */
  readonly side?: readonly TrialSide[];
  readonly permissionMode: PermissionMode;
  readonly setup: (place: TrialPlace) => TrialSetup;
  /** For an agent that only pretends to work: the prompt that makes it do so. No file is changed then. */
  readonly pretence?: string;
}

export interface TrialTask {
  /** The file's whole path. */
  readonly file: string;
  /** Its last line, and the line to add after it, both with their line ends. */
  readonly last: string;
  readonly added: string;
}

export interface TrialCall {
  readonly name: string;
  readonly input: unknown;
}

export interface TrialSide {
  readonly name: string;
  /** Words of the system prompt by which the request is known. */
  readonly systemContains: string;
  readonly answer: string;
}

export interface TrialPlace {
  /** A folder for this trial alone. */
  readonly folder: string;
  /** The model server's address. */
  readonly url: string;
}

/** What the agent finds when it starts. */
export interface TrialSetup {
  readonly env: Readonly<Record<string, string>>;
  /** Whole paths of folders to make, and of files to write with their content. */
  readonly folders?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
}
