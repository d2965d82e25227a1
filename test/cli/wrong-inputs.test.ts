/**
 * What the command line says to wrong inputs: each row is what was typed, the exit code, and the words that must be in
 * the answer. The commands run in this process, so that the whole list takes seconds.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import { temporaryFolder } from "../support/folders.ts";

const USAGE = 2;
const FAILED = 1;

let home = "";

beforeEach(() => {
  home = temporaryFolder();
  mkdirSync(join(home, "folder"));
  writeFileSync(join(home, "text.txt"), "no event\n");
  writeFileSync(join(home, "empty.jsonl"), "");
  writeFileSync(join(home, "bad.json"), "{ nonsense");
  writeFileSync(join(home, "unknown.json"), '{ "colour": "red" }');
  for (const name of Object.keys(process.env)) if (/^FRANCA_|_API_KEY$/.test(name)) vi.stubEnv(name, undefined);
  vi.stubEnv("HOME", home);
  vi.stubEnv("XDG_DATA_HOME", join(home, "share"));
  vi.stubEnv("XDG_CONFIG_HOME", join(home, "config"));
  vi.stubEnv("FRANCA_MOCK_DELAY_MS", "0");
  vi.stubEnv("NO_COLOR", "1");
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

interface Said {
  readonly code: number | undefined;
  readonly text: string;
}

async function typed(line: string): Promise<Said> {
  let text = "";
  const write = (piece: unknown): boolean => {
    text += String(piece);
    return true;
  };
  vi.spyOn(process.stdout, "write").mockImplementation(write);
  vi.spyOn(process.stderr, "write").mockImplementation(write);
  process.exitCode = undefined;
  await main(wordsOf(line.replaceAll("~", home)));
  const code = typeof process.exitCode === "number" ? process.exitCode : undefined;
  return { code, text };
}

/** Words in double quotes are one. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");

const rows: readonly (readonly [string, number, RegExp])[] = [
  ["dance", USAGE, /unknown command 'dance'/],
  ["runn", USAGE, /unknown command 'runn'[\s\S]*Did you mean run\?/],
  ["--colour", USAGE, /unknown option '--colour'/],
  ["help dance", USAGE, /unknown command|Usage: franca/],
  ["run --colour x", USAGE, /unknown option '--colour'[\s\S]*--help/],
  ["run --agent", USAGE, /option '-a, --agent <agent>' argument missing/],
  ["run -a nobody hi", FAILED, /nobody.*\(unsupported_agent\)/],
  ["run -a claude hi", FAILED, /is not installed.*franca agents install claude.*\(agent_not_installed\)/],
  ["run --format html hi", USAGE, /--format html is not known. It takes text, universal, opencode/],
  ["run --permission-mode yolo hi", USAGE, /'yolo' is invalid. Allowed choices are/],
  ["run --auto-approve --deny hi", USAGE, /'--auto-approve' cannot be used with option '--deny'/],
  ["run -q -v hi", USAGE, /'-q, --quiet' cannot be used with option '-v, --verbose'/],
  ["run -c -r abc hi", USAGE, /cannot be used with option '-c, --continue'/],
  ["run -d ~/missing -a mock hi", FAILED, /missing does not exist, or is not a directory.*\(directory_not_found\)/],
  ["run -c hi", FAILED, /There is no session in .* to continue/],
  ["run -r 7f3c hi", FAILED, /There is no session 7f3c.*--agent.*\(session_not_found\)/],
  ["run -f ~/missing.txt hi", USAGE, /--file: .*missing.txt does not exist/],
  ["run -f ~/folder hi", USAGE, /--file: .*folder is not a file/],
  ["run --image ~/text.txt hi", USAGE, /--image: .*text.txt is not one of .png, .jpg.*use --file/],
  ["run --max-cost much hi", USAGE, /argument 'much' is invalid.*an amount like 0.50/],
  ["run --max-cost 0 hi", USAGE, /argument '0' is invalid/],
  ["run --max-tokens -5 hi", USAGE, /argument '-5' is invalid.*whole number/],
  ["run --max-time 3d hi", USAGE, /argument '3d' is invalid.*90s, 10m or 2h/],
  ["mcp", FAILED, /No daemon runs.*franca daemon start/],
  ["run -a mock --delegate hi", FAILED, /cannot use MCP servers|needs a daemon/],
  ["usage --by colour", USAGE, /'colour' is invalid. Allowed choices are day, agent, model, folder/],
  ["usage --days 0", USAGE, /argument '0' is invalid/],
  ["prices list nobody-1", FAILED, /The price of nobody-1 is unknown.*franca prices set nobody-1/],
  ["prices set nobody-1 --input 1", USAGE, /required option '--output <usd>' not specified/],
  ["prices set nobody-1 --input -1 --output 1", USAGE, /argument '-1' is invalid/],
  ["prices remove nobody-1", FAILED, /You have set no price for nobody-1/],
  ["run --base-url nowhere hi", USAGE, /argument 'nowhere' is invalid.*http:\/\/127.0.0.1:8000/],
  ['run --command "./agent --acp" hi', USAGE, /.\/agent is relative: give the program's name on PATH/],
  ['run --command "" hi', USAGE, /the command names no program/],
  ['run --command "agent" -a claude hi', USAGE, /--command .* does not go with --agent claude/],
  ['run --command "agent" -r 7f3c hi', USAGE, /--command is for a new session/],
  ["run -d ~/folder --command no-such-agent hi", FAILED, /not known what no-such-agent takes from a folder.*trust/],
  ["acp --command ./agent", USAGE, /.\/agent is relative/],
  ["run -a acp hi", FAILED, /No command was given: .*--command "my-agent --acp"/],
  ["run -a builtin hi", FAILED, /No model is set.*ANTHROPIC_API_KEY/],
  ["run -a builtin -m claude-x hi", FAILED, /No API key for the provider "anthropic". Set ANTHROPIC_API_KEY/],
  ["run --server nonsense hi", USAGE, /"nonsense" is no address of a daemon; write it like http:\/\/127.0.0.1:7717/],
  ["run --server http://127.0.0.1:9 hi", FAILED, /No daemon answers at http:\/\/127.0.0.1:9[\s\S]*franca serve/],
  ["run --attach http://127.0.0.1:9 hi", FAILED, /No daemon answers/],
  ["run --config ~/missing.json hi", USAGE, /The config file .*missing.json does not exist/],
  ["run --config ~/bad.json hi", USAGE, /The config file .*bad.json cannot be read/],
  ["run --config ~/unknown.json hi", USAGE, /unknown key `colour`. Known: host, port/],
  ["run --token-file ~/missing hi", USAGE, /The token file .*missing does not exist or is empty/],
  ["serve --port 99999", USAGE, /--port: a port is a whole number from 0 to 65535/],
  ["serve --port web", USAGE, /--port: a port is a whole number/],
  ["serve --default-agent nobody", USAGE, /--default-agent: there is no agent nobody/],
  ["serve --no-token --host 0.0.0.0", USAGE, /--no-token: 0.0.0.0 can be reached from elsewhere/],
  ["serve --log-level loud", USAGE, /'loud' is invalid/],
  ["serve --pass-env A=b", USAGE, /--pass-env: it takes the names of variables/],
  ["daemon jump", USAGE, /unknown command 'jump'/],
  ["daemon status", FAILED, /No daemon runs on /],
  ["sessions show", USAGE, /missing required argument 'id'/],
  ["sessions show 7f3c", FAILED, /There is no session 7f3c\. franca sessions lists them\. \(session_not_found\)/],
  ["sessions export 7f3c --format pdf", USAGE, /'pdf' is invalid. Allowed choices are universal/],
  ["sessions rename 7f3c", USAGE, /missing required argument 'title'/],
  ["sessions delete 7f3c", FAILED, /There is no session 7f3c/],
  ["serve --keep-days 0", USAGE, /--keep-days: it is a whole number of days, from 1/],
  ["serve --max-disk lots", USAGE, /--max-disk: a size is written like 500MB or 2GB/],
  ["serve --stop-wait-ms soon", USAGE, /--stop-wait-ms: it is a whole number of milliseconds, up to an hour/],
  ["sessions adopt", USAGE, /Name conversations by their ids, or say --all/],
  ["sessions adopt --all 0b7c", USAGE, /Either name conversations, or say --all/],
  ["sessions adopt 0b7c --since 30d", USAGE, /--since goes with --all/],
  ["sessions discover --since soon", USAGE, /"soon" is no span of time/],
  ["convert --from claude-file", USAGE, /--from claude-file reads a file: name it/],
  ["sessions prune", USAGE, /required option '--older-than <span>' not specified/],
  ["sessions prune --older-than soon", USAGE, /"soon" is no span of time; write it like 30s/],
  ["sessions -n none", USAGE, /must be a whole number above 0/],
  ["attach 7f3c", FAILED, /There is no session 7f3c/],
  ["events 7f3c", FAILED, /There is no session 7f3c/],
  ["events 7f3c --offset x", USAGE, /It must be a whole number/],
  ["models nobody", FAILED, /nobody.*\(unsupported_agent\)/],
  ["agents install nobody", FAILED, /nobody.*\(unsupported_agent\)/],
  ["agents install mock", FAILED, /mock is part of Franca: there is nothing to install/],
  ["agents uninstall mock", FAILED, /mock is part of Franca: there is nothing to uninstall/],
  ["agents uninstall codex", FAILED, /Franca did not install codex: it is not installed/],
  ["doctor mock --storage", USAGE, /Agents are not tried when only what is stored is checked/],
  ["backup", USAGE, /missing required argument 'file'/],
  ["backup ~/new", FAILED, /There is nothing to back up: .*franca.db does not exist/],
  ["backup --store memory ~/new", USAGE, /unknown option '--store'/],
  ["restore ~/none", USAGE, /The backup .*none does not exist/],
  ["restore ~/text.txt", FAILED, /is damaged or is no Franca log/],
  ["doctor nobody", USAGE, /There is no agent nobody. There are: /],
  ["convert ~/missing.jsonl", FAILED, /missing.jsonl could not be read: ENOENT/],
  ["convert --from nobody ~/text.txt", USAGE, /Cannot read nobody. --from takes .*universal, or auto/],
  ["convert --to pdf ~/text.txt", USAGE, /Cannot write pdf. --to takes universal/],
  ["convert ~/text.txt", USAGE, /Say it: --from/],
  ["convert --from universal ~/text.txt", 3, /1 line was not understood/],
  ["lint ~/missing.jsonl", USAGE, /missing.jsonl could not be read/],
  ["lint ~/empty.jsonl", USAGE, /There is nothing to check: .*empty.jsonl holds no events/],
  ["lint --dialect klingon ~/text.txt", USAGE, /There are no rules for klingon. --dialect takes universal/],
  ["completion tcsh", USAGE, /There is no completion for tcsh: bash, zsh or fish/],
  ["config init ~/text.txt", FAILED, /text.txt exists already; it is not replaced/],
  ["logs", FAILED, /There is no .*daemon.log. franca daemon start writes it/],
  ["trust add ~/missing", FAILED, /missing/],
  ["open", FAILED, /shown in a terminal only|No daemon runs/],
];

test.each(rows)("franca %s", async (line, code, words) => {
  const said = await typed(line);
  expect(said.text).toMatch(words);
  expect(said.code).toBe(code);
  // A sentence, not a stack.
  expect(said.text).not.toMatch(/^\s+at .*:\d+:\d+\)?$/m);
});
