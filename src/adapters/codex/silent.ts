/** The notifications that are ignored, each with the reason. What is neither here nor translated is unparsed. */

export const silentNotifications: Readonly<Record<string, string>> = {
  "thread/status/changed": "Turns and requests say it themselves.",
  "thread/readState/changed": "Whether a person has read it is the client's own affair.",
  "thread/goal/cleared": "Said at every resume, also when there was no goal.",
  "thread/attachment/updated": "Attachments of a thread list; the turn's input shows what is used.",
  "thread/prediction/updated": "A guess at the next prompt, for input fields.",
  "thread/queue/changed": "Codex's own prompt queue, which we do not use.",
  "thread/project/updated": "Grouping in Codex's own clients.",
  "project/changed": "Grouping in Codex's own clients.",
  "thread/environment/connected": "The place where commands run; tools have their directory.",
  "thread/environment/disconnected": "The place where commands run; a command that cannot run fails.",
  "thread/compacted": "Said by the contextCompaction item.",
  "item/fileChange/patchUpdated": "The completed item carries the changes.",
  "account/updated": "About the account, not about a session.",
  "account/login/completed": "About the account, not about a session.",
  "account/gatewayOAuth/changed": "About the account, not about a session.",
  "account/rateLimits/updated": "About the account; a limit that is reached fails the turn.",
  "skills/changed": "What could be used; what is used shows as items.",
  "app/list/updated": "What could be used; what is used shows as items.",
  "mcpServer/oauthLogin/completed": "Answer to a login we never start.",
  "mcpServer/event/stream/notification": "Of a subscription we never make.",
  "remoteControl/status/changed": "Codex's own remote control.",
  "externalAgentConfig/import/progress": "Of an import we never start.",
  "externalAgentConfig/import/completed": "Of an import we never start.",
  "fs/changed": "Of a watch we never set.",
  "command/exec/outputDelta": "Of a process we never start this way.",
  "process/outputDelta": "Of a process we never start this way.",
  "process/exited": "Of a process we never start this way.",
  "fuzzyFileSearch/sessionUpdated": "Of a search we never start.",
  "fuzzyFileSearch/sessionCompleted": "Of a search we never start.",
  "model/verification": "A note to the account holder; nothing in the turn changes.",
  "model/safetyBuffering/updated": "A hint for spinners; the text comes when it comes.",
  "turn/moderationMetadata": "Opaque to clients.",
  "thread/realtime/started": "Voice, which we never start.",
  "thread/realtime/itemAdded": "Voice, which we never start.",
  "thread/realtime/item/started": "Voice, which we never start.",
  "thread/realtime/item/transcript/delta": "Voice, which we never start.",
  "thread/realtime/item/completed": "Voice, which we never start.",
  "thread/realtime/transcript/delta": "Voice, which we never start.",
  "thread/realtime/transcript/done": "Voice, which we never start.",
  "thread/realtime/outputAudio/delta": "Voice, which we never start.",
  "thread/realtime/sdp": "Voice, which we never start.",
  "thread/realtime/error": "Voice, which we never start.",
  "thread/realtime/closed": "Voice, which we never start.",
  "windows/worldWritableWarning": "Windows only, where Franca does not run.",
  "windowsSandbox/setupCompleted": "Windows only, where Franca does not run.",
};

const names: ReadonlySet<string> = new Set(Object.keys(silentNotifications));

export const isSilent = (method: string): boolean => names.has(method);

/** Requests of Codex's that are refused with an error, each with the reason. */
export const refusedRequests: Readonly<Record<string, string>> = {
  "account/chatgptAuthTokens/refresh": "Codex keeps its own login; Franca holds no tokens.",
  "attestation/generate": "Only Codex's own clients can attest.",
};
