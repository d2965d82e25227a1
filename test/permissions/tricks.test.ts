/** Command lines that once got past a rule. */
import { expect, it } from "vitest";
import { judgeCommand, openFixture, rule } from "./fixture.ts";

const allowed = ["echo *", "sort *", "ln *", "cd *", "curl *"].map((pattern) => rule("allow", "bash", pattern));

it.each([
  "echo x > $^^HOME/x",
  "sort -uolink.txt a.txt",
  "curl -sSolink.txt http://example.com",
  "cd sub && ln -s .. ../l && echo x > ../l/outside/f",
])("does not write outside the folder: %s", async (line) => {
  expect((await judgeCommand(line, openFixture(), { rules: allowed })).action).toBe("ask");
});

it.each([
  "python3.11 -c 'import os; os.system(\"touch d\")'",
  "Rscript -e 'system(\"touch d\")'",
  "bash5 -c 'touch a'",
  "jobs -x touch a",
  "- touch a",
  "$==SHELL -c 'touch a'",
  "fd . -x touch a",
  "uv run touch a",
  "nix-shell --run 'touch a'",
  "git rebase -x'touch a'",
  "git rebase --exe 'touch a'",
  "git submodule --quiet foreach 'touch a'",
  "git difftool -y -xtouch a",
  "git fetch --upload 'touch a' .",
  "git push --rece='touch a' .",
])("does not run a denied command: %s", async (line) => {
  const rules = [rule("allow", "bash"), rule("deny", "bash", "touch *")];
  expect((await judgeCommand(line, openFixture(), { rules })).action).not.toBe("allow");
});

it.each(["git status -uno", "sort -u a.txt", "ln -s a.txt b.txt", "uv run pytest"])("still allows %s", async (line) => {
  expect((await judgeCommand(line, openFixture(), { rules: [rule("allow", "bash")] })).action).toBe("allow");
});
