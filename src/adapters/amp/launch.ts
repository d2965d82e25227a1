/** How to run Amp: one process per prompt, which goes on with the thread of the one before. */
import type { Launch, LaunchOptions } from "../../core/launch.ts";

export function launch(options: LaunchOptions): Launch {
  const refusal = refusalOf(options);
  if (refusal !== null) return refusal;
  const { resume, mode, prompt, binary } = options;
  const text = prompt?.text ?? "";
  return {
    kind: "process",
    command: binary ?? "amp",
    args: [
      ...(resume === null ? [] : ["threads", "continue", resume]),
      "-x",
      // A prompt that begins with a dash would be taken for an option.
      text.startsWith("-") ? ` ${text}` : text,
      "--stream-json",
      "--stream-json-thinking",
      // The next prompt goes on with the thread.
      "--no-archive-after-execute",
      ...(mode === null ? [] : ["--mode", mode]),
    ],
    env: { AMP_SKIP_UPDATE_CHECK: "1" },
    lifetime: "turn",
  };
}

/** One argument of a command line may be 128 KiB on Linux; characters may take up to three bytes. */
const PROMPT_LIMIT = 40_000;

function refusalOf({
  folder,
  model,
  variant,
  fork,
  system_prompt,
  mcp,
  prompt,
  permission_mode,
}: LaunchOptions): Launch | null {
  const refuse = (message: string): Launch => ({ kind: "refused", code: "not_supported", message });
  if (folder?.trusted === false) {
    const message = `Amp cannot be kept from using the settings of a folder, and ${folder.path} is not trusted. If you trust its files: franca trust add ${folder.path}`;
    return { kind: "refused", code: "folder_not_trusted", message };
  }
  if (model !== null)
    return refuse("Amp chooses its models itself; choose a mode instead (agentMode: low, medium, high).");
  if (variant !== null) return refuse("Amp has no variants; choose a mode instead (agentMode: low, medium, high).");
  if (fork) return refuse("Amp's command line cannot fork a thread.");
  if (system_prompt !== null) return refuse("Amp takes no system prompt; write an AGENTS.md in the directory instead.");
  if (Object.keys(mcp).length > 0) return refuse("Amp reads MCP servers from its own settings (amp.mcpServers) only.");
  if (prompt !== null && prompt.attachments.length > 0) {
    return refuse("Amp takes no attachments on its command line; name the file in the prompt instead.");
  }
  if (prompt !== null && prompt.text.length > PROMPT_LIMIT) {
    return refuse(`Amp takes its prompt on the command line, at most ${PROMPT_LIMIT} characters; put it into a file.`);
  }
  if (permission_mode !== "default") {
    const message = `Amp has no permission mode "${permission_mode}" on its command line: its settings decide (amp.permissions, amp.dangerouslyAllowAll).`;
    return { kind: "refused", code: "mode_not_supported", message };
  }
  return null;
}
