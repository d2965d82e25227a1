/** An agent is added by its own files and its line in the list, and no agent gets the keys of another. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ApiError, type Client, connect } from "../../src/sdk/index.ts";
import { serve } from "../support/daemon.ts";
import { temporaryFolder } from "../support/folders.ts";
import { notedBy, offerPrograms, withAcme } from "../support/imaginary-agent.ts";

/** Building a copy of everything takes its time on a busy machine. */
const PATIENCE_MS = 120_000;

const keys = {
  ROADRUNNER_KEY: "acme-key-0123456789",
  ACME_REGION: "desert",
  ANTHROPIC_API_KEY: "claude-key-0123456789",
  OPENAI_API_KEY: "openai-key-0123456789",
  AMP_API_KEY: "amp-key-0123456789",
  FRANCA_TOKEN: "token-0123456789",
};

test("an imaginary agent runs with its own key, and neither it nor another gets a key that is not its own", {
  timeout: PATIENCE_MS,
}, async () => {
  const folder = temporaryFolder();
  const [tree, bin, home] = [join(folder, "franca"), join(folder, "bin"), join(folder, "home")];
  for (const path of [tree, bin, home]) mkdirSync(path);
  offerPrograms(bin);
  const program = await withAcme(tree);
  const env = { ...keys, PATH: `${bin}:/usr/bin:/bin` };
  const { url } = await serve({ home, executable: program, args: ["--port", "0"], env });
  const client = connect({ url, token: keys.FRANCA_TOKEN });

  const known = (await client.agents()).filter(({ id }) => ["acme", "claude"].includes(id));
  expect(known).toMatchObject([
    { id: "acme", installed: true, version: "1.2.3", credentialsAvailable: true },
    { id: "claude", installed: true, version: "1.2.3", credentialsAvailable: true },
  ]);
  await expect(client.installAgent("acme")).rejects.toThrow("Acme is installed by its own installer.");
  await expect(client.installAgent("acme")).rejects.toBeInstanceOf(ApiError);

  expect(await spoken(client, { agent: "acme", directory: folder })).toBe("Beep.");
  await spoken(client, { agent: "claude", directory: folder });
  for (const moment of ["version", "work"]) {
    expect(secretsIn(notedBy(bin, `acme.${moment}`)), moment).toEqual({
      ROADRUNNER_KEY: keys.ROADRUNNER_KEY,
      ACME_REGION: keys.ACME_REGION,
    });
    expect(secretsIn(notedBy(bin, `claude.${moment}`)), moment).toEqual({ ANTHROPIC_API_KEY: keys.ANTHROPIC_API_KEY });
  }
});

/** What one turn says; it must end well. */
async function spoken(client: Client, options: { agent: string; directory: string }): Promise<string> {
  const session = await client.create(options);
  let text = "";
  for await (const event of session.ask("Go")) {
    if (event.type === "item.delta") text += event.data.delta;
    if (event.type === "turn.ended") expect(event.data.reason).toBe("completed");
  }
  return text;
}

const secretsIn = (environment: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => name in keys));
