/** The bundle of a test is also its fake agents: `node <bundle> agent <name> …` plays one of them. */
import { playAcp } from "./acp.ts";
import { playClaude } from "./claude.ts";
import { playCodex } from "./codex.ts";

/** Runs as an agent when the arguments say so, else as the program itself. */
export async function runAs(args: readonly string[], program: () => Promise<number>): Promise<void> {
  const [role, agent, ...rest] = args;
  if (role !== "agent") process.exitCode = await program();
  else if (agent === "acp") await playAcp();
  else if (agent === "codex") await playCodex(rest);
  else await playClaude(rest);
}
