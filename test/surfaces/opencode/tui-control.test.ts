/** What programs ask of attached TUIs: published to the TUIs of the directory, as OpenCode's server does. */
import { expect, test } from "vitest";
import { listen } from "../../support/opencode-client.ts";
import { openSurface } from "../../support/opencode-surface.ts";

test("each request is an event, and what cannot be understood is refused", async () => {
  const { api, base, directory } = await openSurface();
  const listener = await listen(base, { directory });
  const elsewhere = await listen(base, { directory: "/somewhere/else" });
  const { body: session } = await api.post("/session", {});
  const asked: [string, unknown, string, unknown][] = [
    ["append-prompt", { text: "hi" }, "tui.prompt.append", { text: "hi" }],
    ["open-help", undefined, "tui.command.execute", { command: "help.show" }],
    ["open-sessions", undefined, "tui.command.execute", { command: "session.list" }],
    ["open-models", undefined, "tui.command.execute", { command: "model.list" }],
    ["submit-prompt", undefined, "tui.command.execute", { command: "prompt.submit" }],
    ["clear-prompt", undefined, "tui.command.execute", { command: "prompt.clear" }],
    ["execute-command", { command: "session_new" }, "tui.command.execute", { command: "session.new" }],
    [
      "show-toast",
      { message: "m", variant: "info" },
      "tui.toast.show",
      { message: "m", variant: "info", duration: 5_000 },
    ],
    ["publish", { type: "tui.prompt.append", properties: { text: "x" } }, "tui.prompt.append", { text: "x" }],
    ["select-session", { sessionID: session.id }, "tui.session.select", { sessionID: session.id }],
  ];
  for (const [path, body] of asked) expect((await api.post(`/tui/${path}`, body)).body).toBe(true);
  await listener.until(({ type }) => String(type) === "tui.session.select");
  const published = listener.heard
    .map(({ event }) => event)
    .filter(({ type }) => type.startsWith("tui."))
    .map(({ type, properties }) => [type, properties]);
  expect(published).toEqual(asked.map(([, , type, properties]) => [type, properties]));
  expect(elsewhere.heard.filter(({ event }) => event.type.startsWith("tui."))).toEqual([]);
  expect((await api.post("/tui/publish", { type: "session.idle", properties: {} })).status).toBe(400);
  expect((await api.post("/tui/append-prompt", {})).status).toBe(400);
  expect((await api.post("/tui/select-session", { sessionID: "ses_none" })).status).toBe(404);
});
