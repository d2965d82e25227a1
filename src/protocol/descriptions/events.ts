/** What each field of the events means. Read by the reference page, the OpenAPI document and the client's types. */
import type * as events from "../events.ts";
import type { Fields } from "./fields.ts";

const TURN = "The turn's id.";

const turnEnd: Fields<events.TurnEnd> = {
  turn_id: TURN,
  reason: "How the turn ended; the same words for every agent.",
  evidence:
    "How the end was detected: the agent's own signal, the exit of its process, the watchdog, or the restart of the daemon.",
  error: "What went wrong. Present when the reason is `error`, and wherever there is more to say.",
  usage: "Tokens and cost of this turn.",
  background: "Work that the agent goes on with after the turn, such as a command left running.",
};

const permission: Fields<events.Permission> = {
  permission_id: "Answer the request with this id.",
  action: "What kind of thing needs permission, for example `bash` or `edit`.",
  status: "`requested`, or how it was answered.",
  metadata: "What exactly is asked for. Agents may add fields.",
};

const question: Fields<events.QuestionRequest> = {
  question_id: "Answer the request with this id.",
  prompt: "The first question's text, for simple clients.",
  options: "The labels of the first question's options, for simple clients.",
  status: "`requested`, `answered` or `rejected`.",
  response: "The answers: one list of labels or own words for each question. Present when answered.",
  questions: "All questions of the request.",
  metadata: "Where the question comes from. Agents may add fields.",
};

const item = { item: "The item as it is now, with all of its content so far." };

export const eventFields: { readonly [Type in events.EventType]: Fields<events.DraftOf<Type>["data"]> } = {
  "session.started": { metadata: "How the session starts." },
  "session.updated": {
    agent: "Another agent has the session now. Only a session without a turn changes its agent.",
    title: "The session's title.",
    model: "The model from now on; null for the agent's own choice.",
    variant: "The model's variant (such as its reasoning effort); null for the default.",
    mode: "The agent's mode; null for the default.",
    permission_mode: "The permission mode from now on.",
    native_session_id: "The agent's own id of the session or thread.",
    agent_version: "The version of the agent's program.",
    directory: "The working directory.",
    tools: "The names of the agent's tools.",
    commands: "All slash commands of the agent: a prompt may begin with one, as `/name`.",
    capabilities: "What the agent has reported that it can do. It overrides what is known of such agents.",
    trusted: "Whether the agent uses the settings, hooks, plugins and MCP servers of its directory.",
    continuing: "Whether the continuation governor may continue turns of this session.",
    queue: "All prompts that wait, in order.",
    revert: "The conversation is reverted to before this message until the next prompt; null when it is not any more.",
    removed: "Messages, or items of messages, that were removed from the conversation. The log keeps their events.",
    share: "Where others can read the session; null when they cannot any more.",
    placement: "Another host runs the session from now on, or it waits for one: `waiting` says why.",
  },
  "session.ended": {
    reason: "Why the session ended.",
    terminated_by: "Who ended it.",
    message: "The reason in words.",
    exit_code: "The exit code of the agent's process, where it exited.",
    stderr: "The beginning and the end of what the agent wrote to standard error.",
  },
  "turn.started": {
    turn_id: TURN,
    origin: "Why it began: a prompt (`user`), a prompt that had waited (`queue`), or the agent by itself.",
    prompt_id: "The prompt that it runs. Absent when the agent began by itself.",
  },
  "turn.state": {
    turn_id: TURN,
    state: "What the turn is doing now.",
    attempt: "With `retrying`: the number of the retry, from 1.",
    message: "With `retrying`: why the last attempt failed.",
    next: "With `retrying`: when the next attempt is made, in epoch milliseconds.",
  },
  "turn.continued": {
    turn_id: TURN,
    decision:
      "`continue`: another prompt is sent within this turn. `settle`: the turn may end. `ask`: plugins are asked.",
    reason: "Why, in words.",
    attempt: "How many continuations this prompt has had, this one included.",
    limit: "How many it may have.",
    inputs: "What the decision was based on.",
  },
  "turn.ended": turnEnd,
  "item.started": item,
  "item.delta": {
    item_id: "The item that grows.",
    native_item_id: "The agent's own id of the item, where it has one.",
    delta: "The text to append.",
    part: "What grows: the text, the reasoning, or the output of a tool.",
  },
  "item.completed": { item: "The item in its final form." },
  "permission.requested": permission,
  "permission.resolved": permission,
  "question.requested": question,
  "question.resolved": question,
  "todo.updated": { todos: "The whole list." },
  "usage.updated": {
    step: "The model step that has just ended; null when only totals changed.",
    turn: "Totals of the turn.",
    session: "Totals of the session.",
  },
  "budget.updated": {
    scope: "Whose budget: the prompt's, the session's, or what all sessions, or those of the agent, may use in a day.",
    kind: "What is limited.",
    limit: "The limit: US dollars, a count, or milliseconds.",
    used: "How much of it is used, in the same unit.",
    state: "`warned` at 80 %, `reached` at the limit. Each is sent once.",
  },
  error: {
    message: "What went wrong, in words.",
    code: "A stable code, where there is one.",
    details: "More, for programs and for bug reports.",
    fatal: "True when the turn ends because of it.",
  },
  "agent.unparsed": {
    error: "What was unexpected in the line.",
    location: "Where in the line.",
    raw_hash: "A hash of the line, to recognise it.",
  },
};

/** Types that appear inside events. */
export const eventTypes = {
  Envelope: {
    event_id: "`<session_id>:<sequence>`.",
    sequence: "Counts the events of the session, from 1, without gaps.",
    time: "When it happened. Never goes back within a session.",
    session_id: "The session's id in Franca.",
    native_session_id: "The agent's own id of the session or thread; null until it is known.",
    turn_id: "The turn it belongs to; null outside a turn.",
    source: "Who caused it: the agent, or Franca itself.",
    synthetic: "True where Franca fills a gap that the agent left.",
    raw: "The native line that caused the event, when `include_raw` asked for it; else null.",
    cause: "Which native line, and which rule of the turn machine, caused it.",
    v: "The version of this schema.",
  } satisfies Fields<events.Envelope>,
  Cause: {
    line: "The number of the native line (see `GET /v1/sessions/{id}/native`); null when no line caused the event.",
    rule: "The rule of the turn machine that made it, for example `turn.grace`.",
  } satisfies Fields<events.Cause>,
  SlashCommand: {
    name: "Its name, without the slash.",
    description: "What it does, in a line.",
    hint: "What may follow the name.",
  } satisfies Fields<events.SlashCommand>,
  SessionMetadata: {
    agent: "The agent's name, for example `claude`.",
    agent_version: "The version of the agent's program; null when it is not known.",
    model: "The model; null for the agent's own choice.",
    directory: "The working directory.",
    permission_mode: "The permission mode.",
    imported: "Set where the conversation was read from the agent's own files: their format, and its id there.",
    tools: "The names of the agent's tools.",
    commands: "All slash commands of the agent, where it has named them by then.",
    capabilities: "What the agent has reported that it can do.",
  } satisfies Partial<Fields<events.SessionMetadata>>,
  StderrExcerpt: {
    head: "The first lines.",
    tail: "The last lines.",
    truncated: "Whether lines between them were left out.",
    total_lines: "How many lines there were.",
  } satisfies Fields<events.StderrExcerpt>,
  Retry: {
    attempt: "The number of the retry, from 1.",
    message: "Why the last attempt failed.",
    next: "When the next attempt is made, in epoch milliseconds.",
  } satisfies Fields<events.Retry>,
  TurnEnd: turnEnd,
  ErrorInfo: {
    message: "What went wrong, in words.",
    code: "A stable code, where there is one, for example `agent_exited`.",
    details: "More, for programs and for bug reports.",
  } satisfies Fields<events.ErrorInfo>,
  BackgroundWork: {
    id: "The agent's id of the work.",
    kind: "What it is, for example `command` or `subagent`.",
    title: "A short description.",
  } satisfies Fields<events.BackgroundWork>,
  Tokens: {
    input: "Input tokens, without those read from or written to a cache.",
    output: "Output tokens, without reasoning.",
    reasoning: "Reasoning tokens.",
    cache_read: "Input tokens read from a cache.",
    cache_write: "Input tokens written to a cache.",
  } satisfies Fields<events.Tokens>,
  UsageTotal: {
    tokens: "Token counts.",
    cost_usd: "Cost in US dollars; null when it is not known.",
    priced: "Whether the cost covers all model steps, some, or none.",
  } satisfies Fields<events.UsageTotal>,
  UsageStep: {
    index: "Counts the model steps of the turn, from 0.",
    finish: "Why the model stopped; null where the agent does not report it.",
    finish_native: "The provider's own word for it.",
    tokens: "Token counts of the step.",
    cost_usd: "Cost in US dollars; null when it is not known.",
    message_id: "The native message that the step wrote.",
  } satisfies Fields<events.UsageStep>,
  Todo: {
    id: "The todo's id.",
    content: "What is to be done.",
    status: "How far it is.",
    priority: "Its priority, where the agent has one.",
  } satisfies Fields<events.Todo>,
  QueuedPrompt: {
    prompt_id: "The prompt's id, as `Franca-Prompt-Id` gave it.",
    preview: "The beginning of its text.",
  } satisfies Fields<events.QueuedPrompt>,
  MessagePlace: {
    message_id: "The message.",
    native_item_id: "Only this item of the message.",
  } satisfies Fields<events.MessagePlace>,
  Revert: {
    message_id: "The first message that is reverted.",
    native_item_id: "Only from this item of the message on.",
    snapshot: "The agent's note of the state before.",
    diff: "What the revert changed in files.",
  } satisfies Fields<events.Revert>,
  Share: { url: "The public address." } satisfies Fields<events.Share>,
  Permission: permission,
  "Permission.metadata": {
    tool: "The tool that wants to run; null where it is no tool.",
    call_id: "The tool call that waits; null where there is none.",
    input: "The tool's input.",
    patterns: "What `always` allows in this session: exactly this command, file, address or tool.",
    every_time: "Whether users are asked every time: `always` then allows only this time.",
    scopes: "Broader patterns that a reply `always` may name as its `scope`.",
    scope: "The broader pattern that was chosen with `always`.",
    deadline: "When it is rejected if nobody answers; null when it was decided at once.",
  } satisfies Partial<Fields<events.Permission["metadata"]>>,
  QuestionRequest: question,
  "QuestionRequest.metadata": {
    call_id: "The tool call that waits; null where there is none.",
    deadline: "When it is rejected if nobody answers.",
  } satisfies Partial<Fields<events.QuestionRequest["metadata"]>>,
  Question: {
    id: "The question's id within the request.",
    header: "A short title.",
    question: "The question.",
    options: "What can be chosen.",
    multiple: "Whether more than one option may be chosen.",
    custom: "Whether an answer in own words is accepted.",
  } satisfies Fields<events.Question>,
  QuestionOption: { label: "Answer with this text.", description: "What choosing it means." },
};
