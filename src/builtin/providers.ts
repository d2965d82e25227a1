/** Which provider a model is asked from, with which URL and key. Decided from configuration and environment alone. */
import { BASE_URL_VARIABLE } from "../core/base-url.ts";
import { ApiError } from "../protocol/errors.ts";
import type { ModelSummary } from "../protocol/resources.ts";
import type { Limits } from "./compact.ts";
import type { BuiltinSettings, Provider, ProviderKind } from "./config.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface ModelChoice {
  readonly provider: string;
  readonly model: string;
  readonly kind: ProviderKind;
  readonly baseURL: string;
  readonly apiKey: string | null;
  readonly limits: Limits | null;
}

interface Known {
  readonly kind: ProviderKind;
  readonly url: string | null;
  readonly urlEnv: readonly string[];
  readonly keyEnv: readonly string[];
  readonly needsKey: boolean;
  /** Taken when nothing names a model. */
  readonly model: string | null;
}

const compatible = (url: string | null, name: string | null): Known => ({
  kind: "openai-compatible",
  url,
  urlEnv: name === null ? ["OPENAI_COMPATIBLE_BASE_URL", "OPENAI_BASE_URL"] : [`${name}_BASE_URL`],
  keyEnv: name === null ? ["OPENAI_COMPATIBLE_API_KEY", "OPENAI_API_KEY"] : [`${name}_API_KEY`],
  needsKey: false,
  model: null,
});

/** Providers that need no configuration. */
const known: ReadonlyMap<string, Known> = new Map(
  Object.entries<Known>({
    anthropic: {
      kind: "anthropic",
      url: "https://api.anthropic.com",
      urlEnv: ["ANTHROPIC_BASE_URL"],
      keyEnv: ["ANTHROPIC_API_KEY"],
      needsKey: true,
      model: "claude-sonnet-4-5",
    },
    openai: {
      kind: "openai",
      url: "https://api.openai.com",
      urlEnv: ["OPENAI_BASE_URL"],
      keyEnv: ["OPENAI_API_KEY"],
      needsKey: true,
      model: "gpt-5",
    },
    google: {
      kind: "google",
      url: "https://generativelanguage.googleapis.com",
      urlEnv: ["GOOGLE_GENERATIVE_AI_BASE_URL"],
      keyEnv: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
      needsKey: true,
      model: "gemini-2.5-pro",
    },
    "openai-compatible": compatible(null, null),
    ollama: compatible("http://127.0.0.1:11434", "OLLAMA"),
    lmstudio: compatible("http://127.0.0.1:1234", "LMSTUDIO"),
    vllm: compatible("http://127.0.0.1:8000", "VLLM"),
  }),
);

const SECRET = /(KEY|TOKEN|SECRET|PASSWORD)$/;
const prefixes = [...known.values()].flatMap(({ keyEnv }) => keyEnv.map((name) => name.replace(/API_KEY$/, "")));

/** Whether a variable holds the key of a provider: a configured one's, or any secret of a provider we know. */
export function isProviderKey(name: string, { provider = {} }: BuiltinSettings): boolean {
  if (Object.values(provider).some(({ apiKeyEnv }) => apiKeyEnv === name)) return true;
  return SECRET.test(name) && prefixes.some((prefix) => name.startsWith(prefix));
}

/** The words a model's name begins with, for names without a provider. */
const families: readonly (readonly [RegExp, string])[] = [
  [/^claude/, "anthropic"],
  [/^(gpt|chatgpt|codex|o\d)/, "openai"],
  [/^gemini/, "google"],
];

/** Windows of well-known models; the configuration's own `limits` come first. */
const windows: readonly (readonly [RegExp, Limits])[] = [
  [/^claude-(3|haiku-3)/, { context: 200_000, output: 8_192 }],
  [/^claude/, { context: 200_000, output: 32_000 }],
  [/^gpt-5/, { context: 400_000, input: 272_000, output: 128_000 }],
  [/^gpt-4\.1/, { context: 1_047_576, output: 32_768 }],
  [/^gpt-4o/, { context: 128_000, output: 16_384 }],
  [/^o\d/, { context: 200_000, output: 100_000 }],
  [/^gemini/, { context: 1_048_576, output: 65_536 }],
];

/** `wanted` is the session's own choice; null leaves it to the configuration, then to the keys that are there. */
export function chooseModel({
  wanted,
  settings,
  environment,
}: {
  wanted: string | null;
  settings: BuiltinSettings;
  environment: Environment;
}): ModelChoice {
  const { provider, model } = nameOf(wanted ?? settings.model ?? null, { settings, environment });
  const own = settings.provider?.[provider];
  const preset = presetOf(provider, own);
  const url =
    environment[BASE_URL_VARIABLE] ??
    settings.baseURL ??
    own?.baseURL ??
    firstOf(environment, preset.urlEnv) ??
    preset.url;
  if (url === null) {
    throw refusal(
      `No address is known for the provider "${provider}". Set builtin.provider.${provider}.baseURL, ` +
        `${preset.urlEnv[0]}, or --base-url.`,
    );
  }
  const apiKey = keyOf({ provider, own, preset, environment });
  const limits = limitsOf({ provider, model, settings });
  return { provider, model, kind: preset.kind, baseURL: withVersion(url, preset.kind), apiKey, limits };
}

interface Context {
  readonly settings: BuiltinSettings;
  readonly environment: Environment;
}

function nameOf(wanted: string | null, context: Context): { provider: string; model: string } {
  if (wanted === null) return defaultName(context);
  const slash = wanted.indexOf("/");
  const first = slash < 0 ? "" : wanted.slice(0, slash);
  const isProvider = Object.hasOwn(context.settings.provider ?? {}, first) || known.has(first);
  if (isProvider && slash < wanted.length - 1) return { provider: first, model: wanted.slice(slash + 1) };
  const family = families.find(([words]) => words.test(wanted))?.[1];
  if (family !== undefined) return { provider: family, model: wanted };
  const configured = Object.keys(context.settings.provider ?? {});
  const [only] = configured;
  if (only !== undefined && configured.length === 1) return { provider: only, model: wanted };
  const names = [...new Set([...configured, ...known.keys()])].join(", ");
  throw refusal(`"${wanted}" names no provider. Write provider/model; the providers are: ${names}.`);
}

function defaultName({ environment }: Context): { provider: string; model: string } {
  for (const [provider, { keyEnv, model }] of known) {
    if (model !== null && firstOf(environment, keyEnv) !== undefined) return { provider, model };
  }
  throw refusal(
    "No model is set. Set builtin.model in the configuration, choose one with --model provider/model, or set " +
      "ANTHROPIC_API_KEY, OPENAI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY.",
  );
}

/**
 * A provider of the configuration's own has the URL and key variables of its kind only when it has that kind's name.
 */
function presetOf(provider: string, own: Provider | undefined): Known {
  const preset = known.get(provider);
  if (preset !== undefined && (own === undefined || own.kind === preset.kind)) return preset;
  const kind = own?.kind ?? "openai-compatible";
  const same = known.get(kind) ?? compatible(null, null);
  return { ...same, keyEnv: own?.baseURL === undefined ? same.keyEnv : [] };
}

function keyOf({
  provider,
  own,
  preset,
  environment,
}: {
  provider: string;
  own: Provider | undefined;
  preset: Known;
  environment: Environment;
}): string | null {
  const named = own?.apiKeyEnv === undefined ? undefined : environment[own.apiKeyEnv];
  const key = own?.apiKey ?? named ?? firstOf(environment, preset.keyEnv);
  if (key !== undefined && key !== "") return key;
  if (!preset.needsKey) return null;
  const where = own?.apiKeyEnv ?? preset.keyEnv[0] ?? "an environment variable";
  throw new ApiError(
    "invalid_request",
    `No API key for the provider "${provider}". Set ${where} or builtin.provider.${provider}.apiKey.`,
  );
}

function limitsOf({
  provider,
  model,
  settings,
}: {
  provider: string;
  model: string;
  settings: BuiltinSettings;
}): Limits | null {
  const own = settings.limits?.[`${provider}/${model}`] ?? settings.limits?.[model];
  const name = model.slice(model.lastIndexOf("/") + 1);
  return own ?? windows.find(([words]) => words.test(name))?.[1] ?? null;
}

const firstOf = (environment: Environment, names: readonly string[]): string | undefined =>
  names.map((name) => environment[name]).find((value) => value !== undefined && value !== "");

/** People write base URLs with and without the version; the packages want it. */
export function withVersion(url: string, kind: ProviderKind): string {
  const bare = url.replace(/\/+$/, "");
  const hasVersion = new URL(bare).pathname.split("/").some((part) => /^v\d+(alpha|beta)?\d*$/.test(part));
  if (hasVersion) return bare;
  return kind === "google" ? `${bare}/v1beta` : `${bare}/v1`;
}

/** Whether some provider could be used as things stand. */
export function hasCredentials({ settings, environment }: Context): boolean {
  try {
    chooseModel({ wanted: null, settings, environment });
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

/** Models that can be named without looking anything up: the configured ones, and one of each provider with a key. */
export function listModels({ settings, environment }: Context): {
  readonly models: readonly ModelSummary[];
  readonly defaultModel?: string;
} {
  const withKey = [...known].flatMap(([provider, { keyEnv, model }]) =>
    model !== null && firstOf(environment, keyEnv) !== undefined ? [`${provider}/${model}`] : [],
  );
  const limited = Object.keys(settings.limits ?? {});
  const ids = [...new Set([...(settings.model === undefined ? [] : [settings.model]), ...limited, ...withKey])];
  const [first] = ids;
  const models = ids.map((id) => ({ id, ...configuredLimit(id, settings) }));
  return settings.model === undefined && first === undefined
    ? { models }
    : { models, defaultModel: settings.model ?? first ?? "" };
}

/** Windows of well-known models are good enough to compact by, but only what was configured is reported. */
function configuredLimit(id: string, { limits = {} }: BuiltinSettings): Pick<ModelSummary, "limit"> {
  const found = limits[id] ?? limits[id.slice(id.indexOf("/") + 1)];
  return found === undefined ? {} : { limit: { context: found.context, output: found.output } };
}

const refusal = (message: string): ApiError => new ApiError("invalid_request", message);
