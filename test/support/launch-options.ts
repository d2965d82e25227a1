/** A session that asks its agent for nothing in particular. */
import type { LaunchOptions } from "../../src/core/launch.ts";

export const plainOptions: LaunchOptions = {
  session_id: "s",
  directory: "/workspace",
  resume: null,
  fork: false,
  fork_at: null,
  model: null,
  variant: null,
  mode: null,
  permission_mode: "default",
  system_prompt: null,
  mcp: {},
  env: {},
  binary: null,
  prompt: null,
  inherited: {},
  asRoot: false,
  folder: null,
};
