/**
 * Permission rules of OpenCode's configuration for agents that do not read it: the user's own files, then those of a
 * folder that a person trusts. A folder that nobody trusts changes nothing. Rules that cannot be read or kept are
 * refused in words: a person relies on them.
 */
import { open, realpath } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import * as z from "zod";
import { plainJson } from "../../core/json-with-comments.ts";
import { isShape } from "../../dialects/shape.ts";
import { ApiError, hasCode } from "../../protocol/errors.ts";
import { PermissionRule } from "../../protocol/requests.ts";
import { isSameRule } from "../credentials/limited-sessions.ts";
import { askHost, jsonOf, leaving } from "../hosts/call.ts";
import type { Reply } from "../http/reply.ts";
import { repositoryOf } from "./git.ts";
import { otherDisk } from "./other-disk.ts";
import { type OpenCodeCall, type OpenCodeContext, readBody, respond } from "./route.ts";

const NAMES = ["opencode.json", "opencode.jsonc"] as const;
const MAX_BYTES = 1024 * 1024;
const MAX_RULES = 200;

interface Wanted {
  readonly agent: string;
  readonly directory: string;
  /** Those that a client gives; they come last, and so they win. */
  readonly rules?: readonly PermissionRule[] | undefined;
}

type Asking = Pick<OpenCodeCall, "sessions" | "catalogue" | "incoming" | "outgoing" | "hostCalls">;

/** What a session of this agent begins with, by the files of the directory's host; undefined for no rules. */
export async function configuredRules(call: Asking, wanted: Wanted): Promise<PermissionRule[] | undefined> {
  const { directory } = wanted;
  const host = await otherDisk({ ...call, directory });
  if (host === null || call.hostCalls === null) return rulesHere(call, wanted);
  const target = RULES_ROUTE;
  const body = Buffer.from(JSON.stringify(wanted));
  const request = { method: "POST", target, headers: { "content-type": "application/json" }, body };
  const answer = await askHost({ calls: call.hostCalls, host, request, signal: leaving(call.outgoing) });
  return Rules.parse(await jsonOf(answer)).rules;
}

/** For other hosts alone. */
export const RULES_ROUTE = "/opencode/hosts/permission-rules";

const Rules = z.object({ rules: z.array(PermissionRule).optional() });

const WantedRules = Rules.extend({ agent: z.string(), directory: z.string() });

export async function answerRules(
  { incoming, outgoing }: Pick<OpenCodeCall, "incoming" | "outgoing">,
  context: OpenCodeContext,
): Promise<Reply> {
  if (context.hostCalls?.taken(incoming) == null) return respond(404, { name: "NotFoundError", data: {} });
  const wanted = await readBody(incoming, WantedRules, { maxBytes: context.maxBodyBytes });
  return respond(200, { rules: await configuredRules({ ...context, incoming, outgoing }, wanted) });
}

async function rulesHere(
  { sessions, catalogue }: Asking,
  { agent, directory, rules }: Wanted,
): Promise<PermissionRule[] | undefined> {
  const given = rules === undefined ? undefined : [...rules];
  if (await catalogue.readsOpenCodeConfig(agent)) return given;
  const folder = await realpath(directory).catch(() => null);
  const files = [...userFiles(), ...(folder !== null && sessions.trust.isTrusted(folder) ? folderFiles(folder) : [])];
  const configured: PermissionRule[] = [];
  for (const file of files) configured.push(...rulesIn(await readConfig(file), file));
  if (configured.length === 0) return given;
  // A session that changes its agent has them already.
  const isKnown = given !== undefined && configured.every((rule, index) => isSameRule(rule, given[index]));
  const all = isKnown ? given : [...configured, ...(given ?? [])];
  if (all.length <= MAX_RULES) return all;
  throw refusal(files.join(", "), `there are ${all.length} permission rules, and at most ${MAX_RULES} are kept`);
}

/** Adds where a rule comes from to the refusal of it. */
export async function sayingWhere<Made>(made: Promise<Made>, { asked }: { readonly asked: boolean }): Promise<Made> {
  try {
    return await made;
  } catch (error) {
    if (asked || !hasCode(error, "not_supported") || !(error instanceof Error)) throw error;
    if (!error.message.includes("permission rule")) throw error;
    const where = "The rule is from OpenCode's configuration, which holds for every agent here";
    throw new ApiError("not_supported", `${error.message} ${where}: change it there, or use the OpenCode agent.`, {
      cause: error,
    });
  }
}

function userFiles(): string[] {
  const { XDG_CONFIG_HOME: home, OPENCODE_CONFIG: named } = process.env;
  const folder = join(home === undefined || home === "" ? join(homedir(), ".config") : home, "opencode");
  const own = ["config.json", ...NAMES].map((name) => join(folder, name));
  return named === undefined || named === "" ? own : [...own, named];
}

/** From the repository's root down to the folder, as OpenCode reads them. */
function folderFiles(folder: string): string[] {
  const root = repositoryOf(folder) ?? folder;
  const folders = [folder];
  for (let at = folder; at !== root; at = dirname(at)) folders.unshift(dirname(at));
  return [...folders, ...folders.map((one) => join(one, ".opencode"))].flatMap((one) =>
    NAMES.map((name) => join(one, name)),
  );
}

/** Null where there is no such file. */
async function readConfig(file: string): Promise<unknown> {
  const config = await readBounded(file);
  if (config === null) return null;
  try {
    return JSON.parse(plainJson(config));
  } catch (cause) {
    throw refusal(file, "it is no JSON, so its permission rules are not known", cause);
  }
}

async function readBounded(file: string): Promise<string | null> {
  const handle = await open(file).catch((error: unknown) => {
    const isAbsent = isShape(error) && (error.code === "ENOENT" || error.code === "ENOTDIR");
    if (isAbsent) return null;
    throw refusal(file, "it cannot be read, so its permission rules are not known", error);
  });
  if (handle === null) return null;
  try {
    const stat = await handle.stat();
    if (!stat.isFile() || stat.size > MAX_BYTES) throw refusal(file, `it is no file of at most ${MAX_BYTES} bytes`);
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

/** One word for everything, or one for each permission, or one for each pattern of it; in the order of the file. */
function rulesIn(config: unknown, file: string): PermissionRule[] {
  const permission = isShape(config) ? config.permission : undefined;
  if (permission === undefined) return [];
  if (!isShape(permission)) return [ruleOf(file, { permission: "*", pattern: "*", action: permission })];
  return Object.entries(permission).flatMap(([name, value]) =>
    isShape(value)
      ? Object.entries(value).map(([pattern, action]) => ruleOf(file, { permission: name, pattern, action }))
      : [ruleOf(file, { permission: name, pattern: "*", action: value })],
  );
}

function ruleOf(file: string, given: Readonly<Record<"permission" | "pattern" | "action", unknown>>): PermissionRule {
  const { pattern } = given;
  const home = typeof pattern === "string" ? pattern.replace(/^(~|\$HOME)(?=\/|$)/, homedir()) : pattern;
  const { data } = PermissionRule.safeParse({ ...given, pattern: home });
  if (data !== undefined) return data;
  throw refusal(file, `${JSON.stringify(given).slice(0, 200)} is no permission rule: allow, ask or deny`);
}

const refusal = (file: string, why: string, cause?: unknown): ApiError =>
  new ApiError("invalid_request", `OpenCode's configuration ${file}: ${why}.`, { cause });
