/** The real Codex tells which models it knows. */
import { expect, test } from "vitest";
import { describeCodex, says } from "../support/codex-agent.ts";

describeCodex("codex: models", (start) => {
  test("it lists models with the efforts they can make and the context they have", async () => {
    const { sessions } = await start({ turns: [says("unused")] });
    const { models } = await sessions.models("codex");
    expect(models.length).toBeGreaterThan(1);
    for (const { id, name, variants, defaultVariant, limit } of models) {
      expect(id).toMatch(/^[\w.-]+$/);
      expect(name).toBeTypeOf("string");
      expect(variants).toContain(defaultVariant);
      expect(limit?.context).toBeGreaterThan(100_000);
    }
  });
});
