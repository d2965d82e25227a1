/** What a session takes as provider keys, and what its refusals say. The journeys of a key are in slow/keys.test.ts. */
import { expect, test } from "vitest";
import { startDaemon } from "../support/daemon.ts";

const KEY = "canary-key-4e1d77b0c9";

test("only keys that the agent takes are taken, and no refusal repeats a value", async () => {
  const daemon = await startDaemon({ token: "t0ken-for-this-test" });
  const session = await daemon.client.create({ agent: "builtin", directory: daemon.directory });
  const post = async (body: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`${daemon.url}/v1/sessions/${session.id}/keys`, {
      method: "POST",
      body,
      headers: { authorization: "Bearer t0ken-for-this-test", "content-type": "application/json" },
    });
    return { status: response.status, text: await response.text() };
  };
  const refused = await Promise.all(
    [
      JSON.stringify({ keys: { PATH: KEY } }),
      JSON.stringify({ keys: { LD_PRELOAD: KEY } }),
      JSON.stringify({ keys: { ANTHROPIC_API_KEY: `${KEY}\n` } }),
      JSON.stringify({ keys: KEY }),
      // A value where the name belongs.
      JSON.stringify({ keys: { [KEY]: "x" } }),
      JSON.stringify({ keys: { [KEY.replaceAll("-", "_")]: "x" } }),
      `{"keys": {"ANTHROPIC_API_KEY": "${KEY}"`,
      `{"keys": ${KEY}}`,
    ].map(post),
  );
  for (const { status, text } of refused) {
    expect(status).toBe(400);
    expect(text).not.toMatch(/canary.key/);
  }
  expect(await post(JSON.stringify({ keys: { ANTHROPIC_API_KEY: KEY } }))).toMatchObject({ status: 204 });
  const unknown = await fetch(`${daemon.url}/v1/sessions/${session.id}/keys`);
  expect(unknown.status).toBe(401);
});
