/** What each field of discovered and adopted conversations means. */
import type * as adoption from "../adoption.ts";
import type { Fields } from "./fields.ts";

export const adoptionTypes = {
  DiscoveredConversation: {
    agent: "The agent whose files hold it.",
    nativeSessionId: "The agent's own id of the conversation.",
    title: "Its title, or its first prompt; null when neither is known.",
    directory: "The folder it was begun in; null when the files do not say.",
    updatedAt: "When its files last changed.",
    size: "The bytes of its files; about, where it is rows of a database.",
    sessionId: "The session that it is in Franca; null when it was not adopted.",
    readOnly: "Why it can be read but not continued, in a sentence.",
  } satisfies Fields<adoption.DiscoveredConversation>,
  Discovery: {
    conversations: "The latest first.",
    problems: "Files that could not be read, in a sentence each.",
  } satisfies Fields<adoption.Discovery>,
  AdoptRequest: {
    agent: "The agent whose files hold it.",
    nativeSessionId: "The agent's own id of the conversation.",
    fork: "Continue in a copy: the agent forks the conversation at the next prompt.",
  } satisfies Fields<adoption.AdoptRequest>,
  Adoption: {
    sessionId: "The session.",
    outcome:
      "`adopted`: a new session. `updated`: turns were added that others had made since. `unchanged`: there were none. " +
      "`known`: the conversation was begun in Franca.",
    turns: "How many turns were imported now.",
    abandoned: "Prompts that a rewind left behind, and that were not imported.",
    open: "Whether its last turn has no end yet and was left out: adopt it again when it has ended.",
    notes: "What could not be read, in a sentence each.",
  } satisfies Fields<adoption.Adoption>,
};
