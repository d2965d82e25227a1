/** Parts of a prompt that a person did not write, or that are not for the agent; and what comes with a prompt. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSurface } from "../../support/opencode-surface.ts";

interface Message {
  readonly info: { readonly role: string };
  readonly parts: readonly Readonly<Record<string, unknown>>[];
}

const textsOf = ({ parts }: Message): readonly unknown[] =>
  parts.filter(({ type }) => type === "text").map(({ text, synthetic, ignored }) => ({ text, synthetic, ignored }));

test("synthetic text reaches the agent and is marked; ignored text is kept and does not", async () => {
  const { api, directory } = await openSurface();
  writeFileSync(join(directory, "notes.md"), "# Notes\n");
  const { body: session } = await api.post("/session", {});
  const { body: answer } = await api.post(`/session/${session.id}/message`, {
    parts: [
      { type: "text", text: "echo look at this" },
      { type: "text", text: "Selected: lines 3 to 5 of a.ts", synthetic: true },
      { type: "text", text: "only for people", ignored: true },
      {
        type: "file",
        url: `file://${join(directory, "notes.md")}?start=1&end=2`,
        mime: "text/markdown",
        filename: "n.md",
      },
    ],
  });
  const said = answer.parts.filter(({ type }: { type: string }) => type === "text");
  expect(said[0].text).toContain(
    "look at this\nSelected: lines 3 to 5 of a.ts\nOf the attached file n.md, look at lines 1 to 2.",
  );
  expect(said[0].text).not.toContain("only for people");
  const { body: messages } = await api.get(`/session/${session.id}/message`);
  expect(textsOf(messages[0])).toEqual([
    { text: "echo look at this" },
    { text: "Selected: lines 3 to 5 of a.ts", synthetic: true },
    { text: "only for people", ignored: true },
    { text: "Of the attached file n.md, look at lines 1 to 2.", synthetic: true },
  ]);
  const file = messages[0].parts.find(({ type }: { type: string }) => type === "file");
  expect(file).toMatchObject({ mime: "text/markdown", filename: "n.md", url: `file://${join(directory, "notes.md")}` });
  // The title is what the person wrote.
  expect((await api.get(`/session/${session.id}`)).body.title).toBe("echo look at this");
});

test("instructions for one prompt stand before its words, as synthetic text", async () => {
  const { api } = await openSurface();
  const { body: session } = await api.post("/session", {});
  const body = { system: "echo Answer in one line.", parts: [{ type: "text", text: "hello" }] };
  const { body: answer } = await api.post(`/session/${session.id}/message`, body);
  expect(textsOf(answer)).toMatchObject([{ text: "Answer in one line.\n\nhello" }]);
  const { body: messages } = await api.get(`/session/${session.id}/message`);
  expect(textsOf(messages[0])).toEqual([{ text: "echo Answer in one line.", synthetic: true }, { text: "hello" }]);
});

test("a prompt with nothing for the agent is refused, and `init` takes a model and an id", async () => {
  const { api } = await openSurface();
  const { body: session } = await api.post("/session", {});
  const nothing = { parts: [{ type: "text", text: "for people", ignored: true }] };
  expect((await api.post(`/session/${session.id}/message`, nothing)).status).toBe(400);
  const messageID = "msg_0123456789abABCDEFGHIJKLMN";
  const init = { providerID: "mock", modelID: "default", messageID };
  expect((await api.post(`/session/${session.id}/init`, init)).body).toBe(true);
  expect((await api.get(`/session/${session.id}/message`)).body[0].info.id).toBe(messageID);
  expect((await api.post(`/session/${session.id}/init`, { ...init, providerID: "nobody" })).status).toBe(400);
});
